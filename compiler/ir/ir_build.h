#pragma once
/* Makes bindings: every function puts one binding at a place and returns its results. Callers: the
 * front ends and the passes. Threads: one at a time per module.
 *
 * Only the number of operands is checked; their values are checked at run time or by shape
 * inference.
 * Errors of all: OUT_OF_MEMORY; EXHAUSTED beyond a limit of ir.h. */
#include "compiler/ir/ir.h"

/* Makes an operator.
 *
 * attributes:  borrowed, checked and completed here; NULL: all defaults.
 * inputs:      NULL for absent ones; absent inputs at the end are dropped.
 * out_results: output_count variables, owned by the binding.
 * Errors: UNSUPPORTED no such operator; INVALID counts, attributes. */
MUST_CHECK Error *ir_build_operator(IrCursor at, const char *operator_name, Attributes *attributes,
    uint32_t input_count, IrVariable *const *inputs, uint32_t output_count,
    IrVariable ***out_results);
/* Makes an operator with one result and at most three inputs (trailing NULLs are absent). */
MUST_CHECK Error *ir_build_simple(IrCursor at, const char *operator_name, Attributes *attributes,
    IrVariable *a, IrVariable *b, IrVariable *c, IrVariable **out);
/* Makes a Transpose. perm: rank numbers. */
MUST_CHECK Error *ir_build_transpose(
    IrCursor at, IrVariable *tensor, uint32_t rank, const int64_t *perm, IrVariable **out);
/* Makes a Transpose of the last two dimensions. Errors: INVALID fewer than 2. */
MUST_CHECK Error *ir_build_swap_last(
    IrCursor at, IrVariable *tensor, uint32_t rank, IrVariable **out);
/* Makes a Cast. */
MUST_CHECK Error *ir_build_cast(IrCursor at, IrVariable *tensor, DType dtype, IrVariable **out);

/* Makes a call. The function's results must have been declared or set. */
MUST_CHECK Error *ir_build_call(IrCursor at, IrFunction *function, uint32_t argument_count,
    IrVariable *const *arguments, IrVariable ***out_results);
MUST_CHECK Error *ir_build_closure(IrCursor at, IrFunction *function, IrVariable **out);
MUST_CHECK Error *ir_build_call_closure(IrCursor at, IrVariable *closure, uint32_t argument_count,
    IrVariable *const *arguments, uint32_t result_count, IrVariable ***out_results);

/* Makes an IF with empty blocks, which both see everything around. The caller fills them, then
 * calls ir_block_set_results with result_count results for each. */
MUST_CHECK Error *ir_build_if(IrCursor at, IrVariable *condition, uint32_t result_count,
    IrBlock **out_then, IrBlock **out_else, IrVariable ***out_results);
/* Makes a MATCH with one block per case, whose parameters are the constructor's fields; NULL
 * matches anything. */
MUST_CHECK Error *ir_build_match(IrCursor at, IrVariable *value, uint32_t case_count,
    IrConstructor *const *constructors, uint32_t result_count, IrBlock ***out_blocks,
    IrVariable ***out_results);

/* Makes an ADT value. constructor NULL: a tuple. */
MUST_CHECK Error *ir_build_construct(IrCursor at, IrConstructor *constructor, uint32_t field_count,
    IrVariable *const *fields, IrVariable **out);
MUST_CHECK Error *ir_build_get_field(
    IrCursor at, IrVariable *object, int64_t field, IrVariable **out);
MUST_CHECK Error *ir_build_get_tag(IrCursor at, IrVariable *object, IrVariable **out);

MUST_CHECK Error *ir_build_list(
    IrCursor at, uint32_t count, IrVariable *const *elements, IrVariable **out);
MUST_CHECK Error *ir_build_list_append(
    IrCursor at, IrVariable *list, IrVariable *element, IrVariable **out);
/* Joins a list's tensors. length: NULL, or the list's length as an int; then an empty list gives a
 * tensor of 0 along the axis, if the elements' type is known. declared: the declared type of the
 * items, or NULL; gives the shape of a join of none. */
MUST_CHECK Error *ir_build_list_concat_declared(IrCursor at, IrVariable *list, IrVariable *length,
    int64_t axis, bool new_axis, const IrType *declared, IrVariable **out);
MUST_CHECK Error *ir_build_list_concat(IrCursor at, IrVariable *list, IrVariable *length,
    int64_t axis, bool new_axis, IrVariable **out);

/* Makes an optional. value NULL: the empty optional. */
MUST_CHECK Error *ir_build_optional(IrCursor at, IrVariable *value, IrVariable **out);
/* Calls a packed function. arguments: as many as its arity. */
MUST_CHECK Error *ir_build_call_packed(
    IrCursor at, IrPackedCall call, IrVariable *const *arguments, IrVariable **out);

MUST_CHECK Error *ir_build_int_op(
    IrCursor at, IntOpKind kind, IrVariable *a, IrVariable *b, IrVariable **out);
MUST_CHECK Error *ir_build_read_scalar(
    IrCursor at, IrVariable *tensor, IrTypeKind kind, IrVariable **out);
MUST_CHECK Error *ir_build_make_tensor(
    IrCursor at, IrVariable *scalar, DType dtype, IrVariable **out);
MUST_CHECK Error *ir_build_shape_of(IrCursor at, IrVariable *tensor, IrVariable **out);
MUST_CHECK Error *ir_build_device_copy(
    IrCursor at, IrVariable *tensor, uint8_t slot, IrVariable **out);
MUST_CHECK Error *ir_build_fatal(
    IrCursor at, const char *text, uint32_t result_count, IrVariable ***out_results);

/* A loop, made as a local tail-recursive function:
 *
 *   loop(i, go, carried…) = if i < trip_count and go { body; loop(i + 1, go', carried'…) }
 *                           else (i, carried…)
 *
 * ir_build_loop makes it. The caller then fills loop.body, which sees loop.counter (int),
 * loop.carried and everything around, and calls ir_build_loop_end with the values of the next
 * round. Scan outputs are lists carried from an empty ir_build_list, joined behind the loop with
 * ir_build_list_concat(list, loop.iterations, 0, true). Loops nest. */
typedef struct IrLoop {
    IrFunction *function;
    IrBlock *body;
    IrVariable *counter;
    IrVariable **carried; /* parameters: values at the start of a round */
    uint32_t carried_count;
    IrVariable *iterations; /* behind the loop: the number of rounds (int) */
    IrVariable **results;   /* behind the loop: the carried values */
    bool conditional;
} IrLoop;

/* Begins a loop.
 *
 * trip_count: an int, or NULL: no end.
 * condition:  a bool scalar or one-element bool tensor tested before the first round; NULL: none.
 * types:      of the carried values, NULL or one each (IR_TYPE_UNKNOWN: from the initial values).
 * name:       for messages; may be NULL. */
MUST_CHECK Error *ir_build_loop(IrCursor at, const char *name, IrVariable *trip_count,
    IrVariable *condition, uint32_t carried_count, IrVariable *const *initial, const IrType *types,
    IrLoop *out_loop);
/* Ends a loop. condition: whether another round may follow (bool scalar or one-element bool
 * tensor); NULL for a loop without condition. */
MUST_CHECK Error *ir_build_loop_end(IrLoop *loop, IrVariable *condition, IrVariable *const *next);
