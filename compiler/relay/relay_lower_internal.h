#pragma once
/* The parts that the files of the lowering share. Threads: one at a time per program. */
#include "compiler/ir/ir_build.h"
#include "compiler/relay/relay_operators.h"

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

/* relay_port_values.c: data types that have a port. */
typedef struct RelayPortData {
    bool is_list;                         /* false: an option */
    const RelayConstructor *full, *empty; /* Cons and Nil, or Some and None, by any name */
    const RelayType *item;                /* a tensor */
} RelayPortData;
/* Whether a type is a list or an option of tensors: one constructor without fields, the other with
 * a tensor and, for a list, with the rest of it. */
bool relay_port_data(const RelayType *type, RelayPortData *out);
/* Adds a port to an exported function and makes the program's value of what comes in. */
MUST_CHECK Error *relay_port_input(IrFunction *function, const char *name,
    const RelayPortData *data, const IrType *item, IrVariable **out);
/* Makes what goes out of the program's value. inout_type: of an item; becomes the port's. */
MUST_CHECK Error *relay_port_output(IrFunction *function, const RelayPortData *data,
    IrType *inout_type, IrVariable *value, IrVariable **out);

/* relay_ports.c: exports a global under its name. *out_fits: false if its type has no ports. */
MUST_CHECK Error *relay_lower_export(RelayLower *lower, const RelayGlobal *global);
/* Whether values of a parameter's and result's types can pass a port. */
bool relay_has_ports(const RelayGlobal *global);
