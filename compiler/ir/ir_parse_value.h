#pragma once
/* Types and constants of the IR's text. */
#include "compiler/ir/ir.h"
#include "compiler/ir/ir_tokens.h"

MUST_CHECK Error *ir_parse_type(IrModule *module, IrTokens *tokens, IrType *out);
/* A scalar, or a type and {elements}. */
MUST_CHECK Error *ir_parse_constant(IrModule *module, IrTokens *tokens, IrVariable **out);
