#pragma once
/* Makes variables, blocks and bindings, for the files of compiler/ir. Threads: one at a time per
 * module. */
#include "compiler/ir/ir.h"

MUST_CHECK Error *ir_variable_create(
    IrModule *module, const char *name, const IrType *type, IrVariable **out);
MUST_CHECK Error *ir_block_create(
    IrFunction *function, IrBinding *parent, uint32_t depth, IrBlock **out);
/* Makes a binding of a kind with operands (copied) and results (made, of unknown type). */
MUST_CHECK Error *ir_binding_create(IrCursor at, IrKind kind, uint32_t operand_count,
    IrVariable *const *operands, uint32_t result_count, IrBinding **out);
