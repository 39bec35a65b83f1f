#pragma once
/* The Relay front end: text to a module of the IR. Caller: compile.c. Threads: any; one at a time
 * per program.
 *
 * Steps: relay_parse.h, relay_check.h, relay_lower.h. The prelude (prelude.relay) is parsed beside
 * the program; what the program uses of it becomes part of the module. Errors: INVALID,
 * UNSUPPORTED "line 3, column 5: …". */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler/ir/ir.h"

MUST_CHECK Error *relay_import(const uint8_t *data, size_t size, IrModule **out);
/* Whether bytes look like a Relay program: they begin with a header or a definition. */
bool relay_probe(const uint8_t *data, size_t size);
