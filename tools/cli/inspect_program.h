#pragma once
/* What is in a file of another runtime's program: Relax executables (raw, or in a library) and
 * Relay executables, whose code is printed. Caller: command_inspect.c. Threads: the main thread. */
#include "tools/client/command.h"

/* *out_done is false, and nothing is printed, when the file is neither. */
MUST_CHECK Error *inspect_program(const CommandContext *context, const char *path, bool *out_done);
