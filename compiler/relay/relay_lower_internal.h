#pragma once
/* The parts that the files of the lowering share. Threads: one at a time per program. */
#include "compiler/ir/ir_build.h"
#include "compiler/relay/relay_operators.h"
#include "compiler/relay/relay_port_shape.h"

typedef struct RelayLower {
    RelayProgram *program;
    IrModule *module;
    IrVariable *heap; /* what references hold at this point; NULL: the program has no references */
} RelayLower;

/* Lowers an expression at the end of *inout_block. A value is one variable. */
MUST_CHECK Error *relay_lower_expr(
    RelayLower *lower, IrBlock *block, const RelayExpr *expr, IrVariable **out);
MUST_CHECK Error *relay_lower_match(
    RelayLower *lower, IrBlock *block, const RelayExpr *match, IrVariable **out);
/* Makes the module's function for a global without its body. */
MUST_CHECK Error *relay_lower_declare(RelayLower *lower, const char *name, const IrBlock *outer,
    const RelayExpr *function, IrFunction **out);
MUST_CHECK Error *relay_lower_body(RelayLower *lower, const RelayExpr *function, IrFunction *made);
/* relay_lower_heap.c: where a program has references, functions have the heap as their first
 * parameter, and functions, branches and arms give it as their first result. */
MUST_CHECK Error *relay_heap_begin(RelayLower *lower, IrFunction *made);
MUST_CHECK Error *relay_heap_declare(RelayLower *lower, IrFunction *made, const IrType *result);
/* Lowers the body of a declared function. type: of its result. */
MUST_CHECK Error *relay_heap_body(
    RelayLower *lower, IrFunction *made, const RelayExpr *body, const IrType *type);
/* The number of results of a branch. */
uint32_t relay_heap_results(const RelayLower *lower);
/* Ends a branch. before: the heap with which the next one begins. */
MUST_CHECK Error *relay_heap_end_branch(
    RelayLower *lower, IrBlock *block, IrVariable *result, IrVariable *before);
/* Goes on behind branches or a call. Returns the value among their results. */
IrVariable *relay_heap_join(RelayLower *lower, IrVariable *const *results);
/* Calls a function; NULL: the closure arguments[0], with the others. */
MUST_CHECK Error *relay_heap_call(RelayLower *lower, IrBlock *block, IrFunction *function,
    uint32_t count, IrVariable *const *arguments, IrVariable **out);
/* Lowers ref, ref_read or ref_write. */
MUST_CHECK Error *relay_heap_reference(RelayLower *lower, IrBlock *block, const RelayExpr *call,
    IrVariable *const *arguments, IrVariable **out);
/* Begins without any references, in an exported function. */
MUST_CHECK Error *relay_heap_create(RelayLower *lower, IrBlock *block);

/* relay_port_read.c: adds the ports of a value to an exported function and makes the value of what
 * comes in. Runs of the function fail where the ports do not fit together. */
MUST_CHECK Error *relay_port_read(
    RelayLower *lower, IrFunction *function, const RelayPortShape *shape, IrVariable **out);
/* relay_port_write.c: makes what goes out of a value. out_ports, out_types: column_count each. */
MUST_CHECK Error *relay_port_write(RelayLower *lower, IrBlock *block, const RelayPortShape *shape,
    IrVariable *value, IrVariable **out_ports, IrType *out_types);

/* relay_ports.c: exports a global under its name. *out_exported: false if values of its type have
 * no ports; where it is required, that is an error. */
MUST_CHECK Error *relay_lower_export(
    RelayLower *lower, const RelayGlobal *global, bool required, bool *out_exported);
