#pragma once
/* home/uploads: bodies and models on their way in. What a crash left there is nobody's. */
#include "base/error.h"

/* Makes it, or empties it. Only the home's owner may, before requests are answered. Symbolic links
 * are removed, not followed. out_path: memory_free. Errors: IO. */
MUST_CHECK Error *upload_folder_open(const char *home, char **out_path);
