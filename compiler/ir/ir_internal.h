#pragma once
/* What the files of the IR share: making variables, blocks and bindings. */
#include "compiler/ir/ir.h"

MUST_CHECK Error *ir_variable_create(
    IrModule *module, const char *name, const IrType *type, IrVariable **out);
MUST_CHECK Error *ir_block_create(
    IrFunction *function, IrBinding *parent, uint32_t depth, IrBlock **out);
/* A binding of a kind with room for its operands (copied) and results (made, of unknown type). */
MUST_CHECK Error *ir_binding_create(IrCursor at, IrKind kind, uint32_t operand_count,
    IrVariable *const *operands, uint32_t result_count, IrBinding **out);
