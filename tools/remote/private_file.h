#pragma once
/* Small files with secrets, which only their owner may read: tokens. Callers: tools/remote,
 * tools/cli. Threads: any. */
#include <stddef.h>

#include "base/error.h"

enum { PRIVATE_FILE_SIZE_MAX = 4096 };

/* Reads the first line of a file, without blanks around it. Other lines may only be blank.
 *
 * out_line:  NUL-terminated; release with private_file_release, which also clears it.
 * Errors:    REFUSED the file is another user's, or others have rights on it; NOT_FOUND, IO;
 *            INVALID no regular file, too large, empty, or with a second line or control
 *            characters. */
MUST_CHECK Error *private_file_read_line(const char *path, char **out_line);
void private_file_release(char *line);
/* Writes a line with mode 0600, atomically and durably. Errors: IO. */
MUST_CHECK Error *private_file_write_line(const char *path, const char *line);
