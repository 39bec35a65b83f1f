#pragma once
/* Parses types and constants of the IR's text. Caller: ir_parse.c. Threads: one at a time per
 * module. */
#include "compiler/ir/ir.h"
#include "compiler/ir/ir_tokens.h"

MUST_CHECK Error *ir_parse_type(IrModule *module, IrTokens *tokens, IrType *out);
/* Parses a scalar, or a type and {elements}. */
MUST_CHECK Error *ir_parse_constant(IrModule *module, IrTokens *tokens, IrVariable **out);
