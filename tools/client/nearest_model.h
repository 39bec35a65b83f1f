#pragma once
/* Names the stored model whose name is nearest to a mistyped one. Callers: layover.c. Threads: the
 * main thread. */
#include "tools/client/command.h"

/* Adds the nearest name to the error NOT_FOUND of a verb whose argument REF names no model. Other
 * errors stay as they are, and so does NULL. Consumes the error. */
MUST_CHECK Error *nearest_model_explain(const CommandContext *context, Error *owned_error);
