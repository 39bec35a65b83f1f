/* References. The heap is a list of what references hold, and a reference is a place in it.
 * Functions take the heap and give it back, so that it is a value like any other: a snapshot needs
 * nothing special, and two names of one reference stay two names of it. Each value is in a tuple of
 * its own, so that it is kept where the fields of data are kept. References live until the run
 * ends. */
#include "compiler/relay/relay_build_internal.h"
#include "compiler/relay/relay_lower_internal.h"

static Error *heap_type(const RelayLower *lower, IrType *out) {
    const IrType cell = {.kind = IR_TYPE_DATA};
    return ir_type_container(lower->module, IR_TYPE_LIST, &cell, out);
}

uint32_t relay_heap_results(const RelayLower *lower) {
    return lower->program->has_references ? 2 : 1;
}

Error *relay_heap_create(RelayLower *lower, IrBlock *block) {
    if (!lower->program->has_references) return NULL;
    return ir_build_list(ir_at_end(block), 0, NULL, &lower->heap);
}

Error *relay_heap_begin(RelayLower *lower, IrFunction *made) {
    IrType type;
    IrVariable *heap;
    if (!lower->program->has_references) return NULL;
    TRY(heap_type(lower, &type));
    return ir_function_add_parameter(made, "heap", &type, &heap);
}

/* The types of a function's results, of which the last is the value's. */
static Error *result_types(const RelayLower *lower, const IrType *result, IrType out[2]) {
    if (lower->program->has_references) TRY(heap_type(lower, &out[0]));
    out[relay_heap_results(lower) - 1] = *result;
    return NULL;
}

Error *relay_heap_declare(RelayLower *lower, IrFunction *made, const IrType *result) {
    IrType types[2];
    TRY(result_types(lower, result, types));
    return ir_function_declare_results(made, relay_heap_results(lower), types);
}

/* The heap, if any, and a value. */
static void fill(const RelayLower *lower, IrVariable *value, IrVariable *out[2]) {
    out[0] = lower->heap;
    out[relay_heap_results(lower) - 1] = value;
}

Error *relay_heap_body(
    RelayLower *lower, IrFunction *made, const RelayExpr *body, const IrType *type) {
    IrVariable *outer = lower->heap, *result, *results[2];
    IrType types[2];
    if (lower->program->has_references) lower->heap = made->body->parameters[0];
    TRY(relay_lower_expr(lower, made->body, body, &result));
    fill(lower, result, results);
    lower->heap = outer;
    TRY(result_types(lower, type, types));
    return ir_function_set_results(made, relay_heap_results(lower), results, NULL, types);
}

Error *relay_heap_end_branch(
    RelayLower *lower, IrBlock *block, IrVariable *result, IrVariable *before) {
    IrVariable *results[2];
    fill(lower, result, results);
    lower->heap = before;
    return ir_block_set_results(block, relay_heap_results(lower), results);
}

IrVariable *relay_heap_join(RelayLower *lower, IrVariable *const *results) {
    if (lower->program->has_references) lower->heap = results[0];
    return results[relay_heap_results(lower) - 1];
}

Error *relay_heap_call(RelayLower *lower, IrBlock *block, IrFunction *function, uint32_t count,
    IrVariable *const *arguments, IrVariable **out) {
    const uint32_t closures = function ? 0 : 1, heaps = relay_heap_results(lower) - 1;
    const uint32_t results_count = relay_heap_results(lower);
    IrVariable **all, **results;
    TRY(relay_new(lower->program, (size_t)count + 1, sizeof *all, &all));
    if (heaps > 0) all[0] = lower->heap;
    for (uint32_t i = closures; i < count; i++) all[heaps + i - closures] = arguments[i];
    const uint32_t all_count = heaps + count - closures;
    if (function)
        TRY(ir_build_call(ir_at_end(block), function, all_count, all, &results));
    else
        TRY(ir_build_call_closure(
            ir_at_end(block), arguments[0], all_count, all, results_count, &results));
    *out = relay_heap_join(lower, results);
    return NULL;
}

/* A new cell behind all others; the reference is its place. */
static Error *create(RelayLower *lower, IrCursor at, IrVariable *value, IrVariable **out) {
    IrVariable *cell;
    TRY(ir_build_call_packed(at, IR_PACKED_LIST_SIZE, &lower->heap, out));
    TRY(ir_build_construct(at, NULL, 1, &value, &cell));
    return ir_build_list_append(at, lower->heap, cell, &lower->heap);
}

static Error *read(RelayLower *lower, IrCursor at, IrVariable *place, IrVariable **out) {
    IrVariable *const operands[] = {lower->heap, place};
    IrVariable *cell;
    TRY(ir_build_call_packed(at, IR_PACKED_SEQUENCE_AT, operands, &cell));
    cell->type.kind = IR_TYPE_DATA;
    return ir_build_get_field(at, cell, 0, out);
}

static Error *write(
    RelayLower *lower, IrCursor at, IrVariable *const *arguments, IrVariable **out) {
    IrVariable *operands[] = {lower->heap, arguments[0], NULL};
    TRY(ir_build_construct(at, NULL, 1, &arguments[1], &operands[2]));
    TRY(ir_build_call_packed(at, IR_PACKED_LIST_SET, operands, &lower->heap));
    return ir_build_construct(at, NULL, 0, NULL, out);
}

Error *relay_heap_reference(RelayLower *lower, IrBlock *block, const RelayExpr *call,
    IrVariable *const *arguments, IrVariable **out) {
    const IrCursor at = ir_at_end(block);
    if (call->reference == RELAY_REFERENCE_NEW) return create(lower, at, arguments[0], out);
    if (call->reference == RELAY_REFERENCE_READ) return read(lower, at, arguments[0], out);
    return write(lower, at, arguments, out);
}
