#pragma once
/* Reads lines from stdin that a person types or a program pipes: a server, and a token without
 * echo. Caller: command_login.c. Threads: the main thread. */
#include <stdbool.h>

#include "base/error.h"

enum { SECRET_LINE_SIZE = 2048 }; /* with the terminating NUL */

/* Reads one line without its end. At the end of the input the line is "". On a terminal the
 * question is printed on stderr.
 *
 * hidden: what is typed is not shown. The terminal shows it again afterwards, also after Ctrl-C.
 * Errors: INVALID a line that is too long or has control characters; INTERRUPTED Ctrl-C while the
 *         line is hidden; IO. */
MUST_CHECK Error *secret_line_ask(const char *question, bool hidden, char out[SECRET_LINE_SIZE]);
