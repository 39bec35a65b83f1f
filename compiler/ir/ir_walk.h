#pragma once
/* Walks over a module's bindings in program order, without recursion, and changes them. Callers:
 * the passes and lowering. Threads: one at a time per module. */
#include "compiler/ir/ir.h"

/* Returns the first binding of a block or of the blocks inside it; NULL for an empty block. */
static inline IrBinding *ir_walk_first(const IrBlock *block) { return block->first; }
/* Returns the next binding in program order: first those in this binding's blocks, then its
 * successor, then those in the next block of its parent. NULL at the end of the function. */
IrBinding *ir_walk_next(const IrBinding *binding);
/* Returns the next binding behind this binding's own blocks. */
IrBinding *ir_walk_over(const IrBinding *binding);
/* Returns the last binding of a block in program order, which may be inside of another one; NULL
 * for an empty block. */
IrBinding *ir_walk_last(const IrBlock *block);
/* Returns the binding whose ir_walk_next() this one is; NULL for the first one of the function. */
IrBinding *ir_walk_previous(const IrBinding *binding);

/* Removes a binding from its block. Its results must have no uses left. */
void ir_remove(IrBinding *binding);
/* Follows replacements to the present variable. NULL gives NULL. */
IrVariable *ir_resolve(IrVariable *variable);
/* Puts replacements into every operand and block result of the module. */
void ir_replace_all(IrModule *module);
/* Puts replacements into one function, when all replaced variables are its own. */
void ir_replace_in(IrFunction *function);
/* Counts the uses of each variable as operand or block result, by id; out_counts:
 * module->variable_count entries. */
void ir_count_uses(const IrModule *module, uint32_t *out_counts);
/* Allocates an array with one cleared element per variable; release with memory_free. */
MUST_CHECK Error *ir_side_table(const IrModule *module, size_t element_size, void **out);

/* Moves all bindings of a block to a place in another block of the same function. */
void ir_move_bindings(IrBlock *from, IrBlock *to, IrBinding *before);

/* Recomputes the depth of every block after blocks were moved. Errors: EXHAUSTED beyond
 * IR_NESTING_MAX. */
MUST_CHECK Error *ir_update_depths(IrModule *module);

/* Returns whether the binding itself (not the bindings in its blocks) only computes its results.
 * Then it may be dropped when they are unused, and merged with an equal one. For calls the result
 * is pure_functions[callee]. */
bool ir_is_pure(const IrBinding *binding, const bool *pure_functions);
/* Finds for each function whether a call has no effect but its results. */
void ir_find_pure_functions(const IrModule *module, bool *out_pure);
