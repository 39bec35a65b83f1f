#pragma once
/* Going over a module's bindings, in program order and without recursion, and changing them. */
#include "compiler/ir/ir.h"

/* The first binding of a block or of the blocks inside it; NULL when it has none. */
static inline IrBinding *ir_walk_first(const IrBlock *block) { return block->first; }
/* The binding behind this one in program order: first those in its blocks, then its successor,
 * then those in the next block of its parent. NULL at the end of the function. */
IrBinding *ir_walk_next(const IrBinding *binding);
/* The same, going on behind the binding's own blocks. */
IrBinding *ir_walk_over(const IrBinding *binding);

/* Takes a binding out of its block. Its results must have no uses left. */
void ir_remove(IrBinding *binding);
/* Follows replacements to the variable that stands now. NULL gives NULL. */
IrVariable *ir_resolve(IrVariable *variable);
/* Puts replacements into every operand and block result of the module. */
void ir_replace_all(IrModule *module);
/* The same for one function, where all that was replaced is its own. */
void ir_replace_in(IrFunction *function);
/* Uses of each variable as operand or block result, by id; out_counts: module->variable_count
 * entries. */
void ir_count_uses(const IrModule *module, uint32_t *out_counts);
/* Allocates an array with one cleared element a variable; release with memory_free. */
MUST_CHECK Error *ir_side_table(const IrModule *module, size_t element_size, void **out);

/* Moves all bindings of a block to a place in another block of the same function. */
void ir_move_bindings(IrBlock *from, IrBlock *to, IrBinding *before);

/* Sets the depth of every block anew after blocks were moved. Errors: EXHAUSTED beyond
 * IR_NESTING_MAX. */
MUST_CHECK Error *ir_update_depths(IrModule *module);

/* Whether the binding itself (not the bindings in its blocks) only computes its results: it may
 * be dropped where they are not used and merged with an equal one. Calls answer
 * pure_functions[callee]. */
bool ir_is_pure(const IrBinding *binding, const bool *pure_functions);
/* For each function whether a call of it has no effect but its results. */
void ir_find_pure_functions(const IrModule *module, bool *out_pure);
