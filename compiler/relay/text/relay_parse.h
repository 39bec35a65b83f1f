#pragma once
/* Parses Relay text to a syntax tree. Caller: relay_import.c. Threads: one at a time per program.
 *
 * The text is the user's and may hold any bytes. The grammar: docs/relay.md. */
#include "compiler/relay/text/relay_tree.h"

/* Adds a source's definitions to a program. An expression becomes the function main.
 *
 * source:  NULL for the user's program, or a name for messages.
 * keeps:   definitions whose names the program has already are left out; otherwise they are an
 *          error.
 * Errors: INVALID "line 3, column 5: …"; TOO_LARGE. */
MUST_CHECK Error *relay_parse(
    RelayProgram *program, const char *source, const char *text, size_t size, bool keeps);
