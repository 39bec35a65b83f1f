/* Loops as local tail-recursive functions. */
#include "compiler/ir/ir_build.h"

/* Makes the exit return the round counter and the unchanged carried values. */
static Error *loop_set_exit(const IrLoop *loop, IrBlock *block) {
    void *array;
    TRY(arena_alloc(&loop->function->module->arena, (size_t)loop->carried_count + 1,
        sizeof(IrVariable *), &array));
    IrVariable **results = array;
    results[0] = loop->counter;
    for (uint32_t i = 0; i < loop->carried_count; i++) results[i + 1] = loop->carried[i];
    return ir_block_set_results(block, loop->carried_count + 1, results);
}

/* Inserts an If for the rest of the round: *inout_block becomes its then-block, and the else-block
 * exits the loop. */
static Error *loop_test(const IrLoop *loop, IrVariable *condition, IrBlock **inout_block) {
    IrBlock *then_block, *else_block;
    IrVariable **results;
    TRY(ir_build_if(ir_at_end(*inout_block), condition, loop->carried_count + 1, &then_block,
        &else_block, &results));
    TRY(loop_set_exit(loop, else_block));
    if ((*inout_block)->parent)
        TRY(ir_block_set_results(*inout_block, loop->carried_count + 1, results));
    else
        TRY(ir_function_set_results(loop->function, loop->carried_count + 1, results, NULL, NULL));
    *inout_block = then_block;
    return NULL;
}

/* Adds the parameters: counter, condition if there is one, carried values. */
static Error *loop_add_parameters(
    IrLoop *loop, IrVariable *condition, IrVariable *const *initial, const IrType *types) {
    IrType int_type = ir_type_scalar(IR_TYPE_INT);
    TRY(ir_function_add_parameter(loop->function, "i", &int_type, &loop->counter));
    IrVariable *parameter;
    if (condition)
        TRY(ir_function_add_parameter(loop->function, "go", &condition->type, &parameter));
    for (uint32_t i = 0; i < loop->carried_count; i++) {
        bool declared = types && types[i].kind != IR_TYPE_UNKNOWN;
        IrType type = declared ? types[i] : initial[i]->type;
        /* a later round may have another shape than the first */
        if (!declared && type.kind == IR_TYPE_TENSOR) type = ir_type_tensor(type.dtype);
        TRY(ir_function_add_parameter(loop->function, initial[i]->name, &type, &parameter));
    }
    loop->carried = loop->function->body->parameters + (condition ? 2 : 1);
    return NULL;
}

Error *ir_build_loop(IrCursor at, const char *name, IrVariable *trip_count, IrVariable *condition,
    uint32_t carried_count, IrVariable *const *initial, const IrType *types, IrLoop *out_loop) {
    IrModule *module = at.block->function->module;
    if (carried_count > IR_OPERANDS_MAX - 2)
        FAIL(EXHAUSTED, "a loop that carries more than %d values", IR_OPERANDS_MAX - 2);
    IrLoop loop = {.carried_count = carried_count, .conditional = condition != NULL};
    TRY(ir_function_create(module, name ? name : "loop", false, at.block, &loop.function));
    TRY(loop_add_parameters(&loop, condition, initial, types));
    void *array;
    TRY(arena_alloc(&module->arena, (size_t)carried_count + 2, sizeof(IrVariable *), &array));
    IrVariable **arguments = array;
    uint32_t count = 0;
    TRY(ir_constant_int(module, 0, &arguments[count++]));
    if (condition) arguments[count++] = condition;
    for (uint32_t i = 0; i < carried_count; i++) arguments[count++] = initial[i];

    TRY(arena_alloc(&module->arena, (size_t)carried_count + 1, sizeof(IrType), &array));
    IrType *result_types = array;
    result_types[0] = ir_type_scalar(IR_TYPE_INT);
    for (uint32_t i = 0; i < carried_count; i++) result_types[i + 1] = loop.carried[i]->type;
    TRY(ir_function_declare_results(loop.function, carried_count + 1, result_types));

    loop.body = loop.function->body;
    if (trip_count) {
        IrVariable *left;
        TRY(ir_build_int_op(ir_at_end(loop.body), INT_OP_LT, loop.counter, trip_count, &left));
        TRY(loop_test(&loop, left, &loop.body));
    }
    if (condition) TRY(loop_test(&loop, loop.function->body->parameters[1], &loop.body));

    IrVariable **results;
    TRY(ir_build_call(at, loop.function, count, arguments, &results));
    loop.iterations = results[0];
    loop.results = results + 1;
    *out_loop = loop;
    return NULL;
}

Error *ir_build_loop_end(IrLoop *loop, IrVariable *condition, IrVariable *const *next) {
    IrModule *module = loop->function->module;
    if (loop->conditional != (condition != NULL))
        FAIL(INVALID, "a loop must have a condition before its first round and behind each, or "
                      "neither");
    void *array;
    TRY(arena_alloc(&module->arena, (size_t)loop->carried_count + 2, sizeof(IrVariable *), &array));
    IrVariable **arguments = array;
    uint32_t count = 0;
    IrVariable *one;
    TRY(ir_constant_int(module, 1, &one));
    IrCursor at = ir_at_end(loop->body);
    TRY(ir_build_int_op(at, INT_OP_ADD, loop->counter, one, &arguments[count++]));
    if (condition) arguments[count++] = condition;
    for (uint32_t i = 0; i < loop->carried_count; i++) arguments[count++] = next[i];
    IrVariable **results;
    TRY(ir_build_call(at, loop->function, count, arguments, &results));
    if (loop->body->parent)
        return ir_block_set_results(loop->body, loop->carried_count + 1, results);
    return ir_function_set_results(loop->function, loop->carried_count + 1, results, NULL, NULL);
}
