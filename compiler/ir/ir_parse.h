#pragma once
/* The text of ir_print.h to a module: for golden tests.
 *
 * A tensor {#7} has pseudo-random elements (seed 7, hexadecimal): what ir_print writes for large
 * ones therefore does not come back. Errors: INVALID "line 3: …". */
#include "compiler/ir/ir.h"

MUST_CHECK Error *ir_parse_module(const char *text, IrModule **out);
