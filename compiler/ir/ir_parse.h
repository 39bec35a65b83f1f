#pragma once
/* Parses the text of ir_print.h to a module. Callers: golden tests only. Pure: no state, any
 * thread.
 *
 * A tensor {#7} has pseudo-random elements (seed 7, hexadecimal), so large tensors that ir_print
 * wrote do not come back. Errors: INVALID "line 3: …". */
#include "compiler/ir/ir.h"

MUST_CHECK Error *ir_parse_module(const char *text, IrModule **out);
