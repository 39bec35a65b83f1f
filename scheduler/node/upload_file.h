#pragma once
/* Temporary files in the home's folder of uploads. Called by http_body.c on the threads of sockets,
 * and by the routes that need a file, on handler threads. No state. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Makes a new file of mode 0600 in the folder. out_path: memory_free after unlink. */
MUST_CHECK Error *upload_file_make(const char *folder, int *out_descriptor, char **out_path);
/* Writes all bytes to the file. Errors: EXHAUSTED the disk is full; IO. */
MUST_CHECK Error *upload_file_write(int descriptor, const uint8_t *data, size_t size);
