#pragma once
/* The metadata section of a Relay program: constants as JSON with arrays in base64. Caller:
 * relay_parse.c. Threads: one at a time per program. */
#include "compiler/relay/text/relay_tokens.h"

/* Reads the section that begins at the token "metadata" and reaches to the text's end.
 * Errors: INVALID naming the section's line; EXHAUSTED. */
MUST_CHECK Error *relay_meta_read(RelayProgram *program, const RelayTokens *tokens);
