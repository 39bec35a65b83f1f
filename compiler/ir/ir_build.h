#pragma once
/* Making bindings: every function puts one binding at a place and answers its results.
 *
 * Operands are checked for their number only; what they hold is checked at run time or by shape
 * inference. Errors of all: OUT_OF_MEMORY; EXHAUSTED beyond a limit of ir.h. */
#include "compiler/ir/ir.h"

/* attributes: borrowed, checked and completed here; NULL: all defaults. inputs: NULL where absent;
 * absent ones at the end are dropped. out_results: output_count variables, borrowed from the
 * binding. Errors: UNSUPPORTED no such operator; INVALID counts, attributes. */
MUST_CHECK Error *ir_build_operator(IrCursor at, const char *operator_name, Attributes *attributes,
    uint32_t input_count, IrVariable *const *inputs, uint32_t output_count,
    IrVariable ***out_results);
/* The same for one result and at most three inputs (trailing NULLs are absent). */
MUST_CHECK Error *ir_build_simple(IrCursor at, const char *operator_name, Attributes *attributes,
    IrVariable *a, IrVariable *b, IrVariable *c, IrVariable **out);

/* The function's results must have been declared or set. */
MUST_CHECK Error *ir_build_call(IrCursor at, IrFunction *function, uint32_t argument_count,
    IrVariable *const *arguments, IrVariable ***out_results);
MUST_CHECK Error *ir_build_closure(IrCursor at, IrFunction *function, IrVariable **out);
MUST_CHECK Error *ir_build_call_closure(IrCursor at, IrVariable *closure, uint32_t argument_count,
    IrVariable *const *arguments, uint32_t result_count, IrVariable ***out_results);

/* The blocks are made empty: fill them (both see everything around), then ir_block_set_results
 * with result_count results each. */
MUST_CHECK Error *ir_build_if(IrCursor at, IrVariable *condition, uint32_t result_count,
    IrBlock **out_then, IrBlock **out_else, IrVariable ***out_results);
/* One block a case, with the constructor's fields as parameters; NULL matches anything. */
MUST_CHECK Error *ir_build_match(IrCursor at, IrVariable *value, uint32_t case_count,
    IrConstructor *const *constructors, uint32_t result_count, IrBlock ***out_blocks,
    IrVariable ***out_results);

/* constructor NULL: a tuple. */
MUST_CHECK Error *ir_build_construct(IrCursor at, IrConstructor *constructor, uint32_t field_count,
    IrVariable *const *fields, IrVariable **out);
MUST_CHECK Error *ir_build_get_field(
    IrCursor at, IrVariable *object, int64_t field, IrVariable **out);
MUST_CHECK Error *ir_build_get_tag(IrCursor at, IrVariable *object, IrVariable **out);

MUST_CHECK Error *ir_build_list(
    IrCursor at, uint32_t count, IrVariable *const *elements, IrVariable **out);
MUST_CHECK Error *ir_build_list_append(
    IrCursor at, IrVariable *list, IrVariable *element, IrVariable **out);
/* length: NULL, or the list's length as an int: then an empty list gives a tensor of 0 along the
 * axis, where the elements' type is known. */
/* declared: what the source says of the items, or NULL; for the shape of a join of none. */
MUST_CHECK Error *ir_build_list_concat_declared(IrCursor at, IrVariable *list, IrVariable *length,
    int64_t axis, bool new_axis, const IrType *declared, IrVariable **out);
MUST_CHECK Error *ir_build_list_concat(IrCursor at, IrVariable *list, IrVariable *length,
    int64_t axis, bool new_axis, IrVariable **out);

/* value NULL: the empty optional. */
MUST_CHECK Error *ir_build_optional(IrCursor at, IrVariable *value, IrVariable **out);
/* arguments: as many as the function's arity. */
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
 * ir_build_loop makes it; then fill loop.body, which sees loop.counter (int), loop.carried and
 * everything around; then ir_build_loop_end with what the next round gets. Scan outputs are lists
 * carried from an empty ir_build_list, joined behind the loop with ir_build_list_concat(list,
 * loop.iterations, 0, true). Loops nest. */
typedef struct IrLoop {
    IrFunction *function;
    IrBlock *body;
    IrVariable *counter;
    IrVariable **carried; /* parameters: values at the start of a round */
    uint32_t carried_count;
    IrVariable *iterations; /* behind the loop: how many rounds were run (int) */
    IrVariable **results;   /* behind the loop: carried values */
    bool conditional;
} IrLoop;

/* trip_count: an int, or NULL: no end. condition: a bool scalar or one-element bool tensor tested
 * before the first round, or NULL: loops without condition. types: of the carried values, NULL or
 * one each (IR_TYPE_UNKNOWN: from the initial values). name: for messages; may be NULL. */
MUST_CHECK Error *ir_build_loop(IrCursor at, const char *name, IrVariable *trip_count,
    IrVariable *condition, uint32_t carried_count, IrVariable *const *initial, const IrType *types,
    IrLoop *out_loop);
/* condition: whether another round may follow (bool scalar or one-element bool tensor); NULL for
 * loops without. */
MUST_CHECK Error *ir_build_loop_end(IrLoop *loop, IrVariable *condition, IrVariable *const *next);
