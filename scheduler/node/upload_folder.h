#pragma once
/* The folder home/uploads: bodies and models that are being received. Files that a crash left there
 * belong to no request. Called by daemon.c at the start. */
#include "base/error.h"

/* Makes the folder, or empties it. Only the home's owner may call this, before requests are
 * answered. Symbolic links are removed, not followed. out_path: memory_free. Errors: IO. */
MUST_CHECK Error *upload_folder_open(const char *home, char **out_path);
