#include "tests/compiler/random_module.h"

#include "compiler/ir/ir_build.h"
#include "compiler/ir/constants.h"
#include "kernels/device/device.h"
#include "tests/support/test_support.h"

enum { POOL_MAX = 24, DEPTH_MAX = 3, STATEMENTS_MAX = 6 };

typedef struct Maker {
    IrModule *module;
    uint64_t state;
    IrVariable *trips; /* int: k */
    IrConstructor *none, *some;
} Maker;

/* What a block can use: tensors float32 [2, 3]. */
typedef struct Pool {
    IrVariable *items[POOL_MAX];
    uint32_t count;
} Pool;

static uint32_t draw(Maker *maker, uint32_t below) {
    return (uint32_t)(test_random(&maker->state) % below);
}

static IrVariable *pick(Maker *maker, const Pool *pool) {
    return pool->items[draw(maker, pool->count)];
}

static void put(Maker *maker, Pool *pool, IrVariable *variable) {
    if (pool->count < POOL_MAX)
        pool->items[pool->count++] = variable;
    else
        pool->items[draw(maker, POOL_MAX)] = variable;
}

static Error *constant(Maker *maker, uint32_t rank, IrVariable **out) {
    int64_t dims[2] = {2, 3};
    Shape shape = shape_make(rank, rank == 1 ? dims + 1 : dims);
    OWN(Tensor, tensor) = NULL;
    TRY(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &shape, &tensor));
    float *data = tensor_data(tensor);
    for (int64_t i = 0; i < shape_count_unchecked(&shape); i++)
        data[i] = (float)draw(maker, 65) / 16.0F - 2.0F;
    return ir_constant_tensor(maker->module, tensor, out);
}

static Error *elementwise(Maker *maker, IrCursor at, const Pool *pool, IrVariable **out) {
    static const char *const unary[] = {"Neg", "Abs", "Relu", "Floor", "Sigmoid", "Identity"};
    static const char *const binary[] = {"Add", "Sub", "Mul", "Max", "Min"};
    IrVariable *a = pick(maker, pool), *b = pick(maker, pool), *test;
    switch (draw(maker, 4)) {
    case 0:
        return ir_build_simple(at, unary[draw(maker, 6)], NULL, a, NULL, NULL, out);
    case 1:
        TRY(ir_build_simple(at, "Greater", NULL, a, b, NULL, &test));
        return ir_build_simple(at, "Where", NULL, test, pick(maker, pool), a, out);
    case 2:
        TRY(constant(maker, draw(maker, 3), &b));
        break;
    default:
        break;
    }
    return ir_build_simple(at, binary[draw(maker, 5)], NULL, a, b, NULL, out);
}

/* Back to [2, 3] by way of its own shape. */
static Error *by_shape(Maker *maker, IrCursor at, const Pool *pool, IrVariable **out) {
    IrVariable *x = pick(maker, pool), *shape, *row, *rows, *minus, *wanted, *flat;
    const int64_t zero = 0, one = -1;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", 0));
    TRY(constants_ints(maker->module, 1, 1, &zero, &row));
    TRY(constants_ints(maker->module, 1, 1, &one, &minus));
    TRY(ir_build_simple(at, "Shape", NULL, x, NULL, NULL, &shape));
    TRY(ir_build_simple(at, "Gather", NULL, shape, row, NULL, &rows));
    TRY(ir_build_simple(at, "Concat", attributes, rows, minus, NULL, &wanted));
    TRY(ir_build_simple(at, "Reshape", NULL, x, minus, NULL, &flat));
    return ir_build_simple(at, "Reshape", NULL, flat, wanted, NULL, out);
}

/* Two joined, two rows cut out again. */
static Error *by_slice(Maker *maker, IrCursor at, const Pool *pool, IrVariable **out) {
    IrVariable *both, *starts, *ends, *axes;
    int64_t start = draw(maker, 3), end = start + 2, axis = 0;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", 0));
    TRY(ir_build_simple(
        at, "Concat", attributes, pick(maker, pool), pick(maker, pool), NULL, &both));
    TRY(constants_ints(maker->module, 1, 1, &start, &starts));
    TRY(constants_ints(maker->module, 1, 1, &end, &ends));
    TRY(constants_ints(maker->module, 1, 1, &axis, &axes));
    IrVariable *inputs[4] = {both, starts, ends, axes}, **results;
    TRY(ir_build_operator(at, "Slice", NULL, 4, inputs, 1, &results));
    *out = results[0];
    return NULL;
}

/* A bool tensor, or the scalar read from it. */
static Error *condition(Maker *maker, IrCursor at, const Pool *pool, IrVariable **out) {
    IrVariable *least, *limit;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "keepdims", 0));
    TRY(constant(maker, 0, &limit));
    TRY(ir_build_simple(at, "ReduceMin", attributes, pick(maker, pool), NULL, NULL, &least));
    TRY(ir_build_simple(at, "Less", NULL, least, limit, NULL, out));
    if (draw(maker, 2)) TRY(ir_build_read_scalar(at, *out, IR_TYPE_BOOL, out));
    return NULL;
}

static Error *fill(Maker *maker, IrBlock *block, Pool *pool, uint32_t depth);

static Error *branch(Maker *maker, IrBlock *block, Pool pool, uint32_t depth, uint32_t results) {
    IrVariable *made[2];
    TRY(fill(maker, block, &pool, depth));
    for (uint32_t i = 0; i < results; i++) made[i] = pick(maker, &pool);
    return ir_block_set_results(block, results, made);
}

static Error *choose(Maker *maker, IrBlock *block, Pool *pool, uint32_t depth) {
    IrVariable *test, **results;
    IrBlock *then_block, *else_block;
    TRY(condition(maker, ir_at_end(block), pool, &test));
    TRY(ir_build_if(ir_at_end(block), test, 2, &then_block, &else_block, &results));
    TRY(branch(maker, then_block, *pool, depth, 2));
    TRY(branch(maker, else_block, *pool, depth, 2));
    put(maker, pool, results[0]);
    put(maker, pool, results[1]);
    return NULL;
}

/* A loop with a scan output, with or without a condition. */
static Error *repeat(Maker *maker, IrBlock *block, Pool *pool, uint32_t depth) {
    IrCursor at = ir_at_end(block);
    IrVariable *initial[3] = {pick(maker, pool), pick(maker, pool)}, *go = NULL, *trips, *joined;
    IrLoop loop;
    bool conditional = draw(maker, 2);
    TRY(ir_build_list(at, 0, NULL, &initial[2]));
    if (conditional) TRY(condition(maker, at, pool, &go));
    TRY(ir_constant_int(maker->module, draw(maker, 4), &trips));
    TRY(ir_build_loop(
        at, "loop", draw(maker, 2) ? maker->trips : trips, go, 3, initial, NULL, &loop));
    Pool inside = *pool;
    put(maker, &inside, loop.carried[0]);
    put(maker, &inside, loop.carried[1]);
    TRY(fill(maker, loop.body, &inside, depth));
    IrCursor end = ir_at_end(loop.body);
    IrVariable *next[3], *round;
    TRY(ir_build_make_tensor(end, loop.counter, DTYPE_FLOAT32, &round));
    TRY(ir_build_simple(end, "Add", NULL, pick(maker, &inside), round, NULL, &next[0]));
    TRY(ir_build_simple(end, "Sigmoid", NULL, next[0], NULL, NULL, &next[0]));
    next[1] = pick(maker, &inside);
    TRY(ir_build_list_append(end, loop.carried[2], pick(maker, &inside), &next[2]));
    if (conditional) TRY(condition(maker, end, &inside, &go));
    if (conditional && go->type.kind != loop.function->body->parameters[1]->type.kind)
        TRY(go->type.kind == IR_TYPE_BOOL ? ir_build_make_tensor(end, go, DTYPE_BOOL, &go)
                                          : ir_build_read_scalar(end, go, IR_TYPE_BOOL, &go));
    TRY(ir_build_loop_end(&loop, go, next));
    put(maker, pool, loop.results[0]);
    put(maker, pool, loop.results[1]);
    const int64_t axis = 0;
    IrVariable *axes;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "keepdims", 0));
    TRY(constants_ints(maker->module, 1, 1, &axis, &axes));
    TRY(ir_build_list_concat(at, loop.results[2], loop.iterations, 0, true, &joined));
    TRY(ir_build_simple(at, "ReduceSum", attributes, joined, axes, NULL, &joined));
    put(maker, pool, joined);
    return NULL;
}

/* A local function that captures what is around it; called, or made a closure and called. */
static Error *call(Maker *maker, IrBlock *block, Pool *pool, uint32_t depth) {
    IrType type = ir_type_shaped(DTYPE_FLOAT32, 2, (int64_t[]){2, 3});
    IrFunction *function;
    IrVariable *parameter, *result, *closure, *arguments[1], **results;
    Pool inside = *pool;
    TRY(ir_function_create(maker->module, "local", false, block, &function));
    TRY(ir_function_add_parameter(function, "p", &type, &parameter));
    put(maker, &inside, parameter);
    TRY(fill(maker, function->body, &inside, depth));
    result = pick(maker, &inside);
    TRY(ir_function_set_results(function, 1, &result, NULL, &type));
    IrCursor at = ir_at_end(block);
    for (uint32_t i = 0; i < 1 + draw(maker, 2); i++) {
        arguments[0] = pick(maker, pool);
        if (draw(maker, 3)) {
            TRY(ir_build_call(at, function, 1, arguments, &results));
        } else {
            TRY(ir_build_closure(at, function, &closure));
            TRY(ir_build_call_closure(at, closure, 1, arguments, 1, &results));
            results[0]->type = type;
        }
        put(maker, pool, results[0]);
    }
    return NULL;
}

static Error *match(Maker *maker, IrBlock *block, Pool *pool, uint32_t depth) {
    IrCursor at = ir_at_end(block);
    IrVariable *test, **results, *value, *field = pick(maker, pool);
    IrBlock *then_block, *else_block, **blocks;
    IrType type = ir_type_shaped(DTYPE_FLOAT32, 2, (int64_t[]){2, 3});
    TRY(condition(maker, at, pool, &test));
    TRY(ir_build_if(at, test, 1, &then_block, &else_block, &results));
    TRY(ir_build_construct(ir_at_end(then_block), maker->some, 1, &field, &value));
    TRY(ir_block_set_results(then_block, 1, &value));
    TRY(ir_build_construct(ir_at_end(else_block), maker->none, 0, NULL, &value));
    TRY(ir_block_set_results(else_block, 1, &value));
    results[0]->type = ir_type_scalar(IR_TYPE_DATA);
    IrConstructor *cases[2] = {maker->some, draw(maker, 2) ? maker->none : NULL};
    TRY(ir_build_match(at, results[0], 2, cases, 1, &blocks, &results));
    Pool inside = *pool;
    blocks[0]->parameters[0]->type = type;
    put(maker, &inside, blocks[0]->parameters[0]);
    TRY(branch(maker, blocks[0], inside, depth, 1));
    TRY(branch(maker, blocks[1], *pool, depth, 1));
    results[0]->type = type;
    put(maker, pool, results[0]);
    return NULL;
}

static Error *tuple(Maker *maker, IrCursor at, const Pool *pool, IrVariable **out) {
    IrVariable *fields[2] = {pick(maker, pool), pick(maker, pool)}, *pair;
    TRY(ir_build_construct(at, NULL, 2, fields, &pair));
    TRY(ir_build_get_field(at, pair, draw(maker, 2), out));
    (*out)->type = ir_type_shaped(DTYPE_FLOAT32, 2, (int64_t[]){2, 3});
    return NULL;
}

static Error *statement(Maker *maker, IrBlock *block, Pool *pool, uint32_t depth) {
    IrCursor at = ir_at_end(block);
    IrVariable *made;
    switch (draw(maker, depth < DEPTH_MAX ? 12 : 8)) {
    case 5:
        TRY(by_shape(maker, at, pool, &made));
        break;
    case 6:
        TRY(by_slice(maker, at, pool, &made));
        break;
    case 7:
        TRY(tuple(maker, at, pool, &made));
        break;
    case 8:
        return choose(maker, block, pool, depth + 1);
    case 9:
        return repeat(maker, block, pool, depth + 1);
    case 10:
        return call(maker, block, pool, depth + 1);
    case 11:
        return match(maker, block, pool, depth + 1);
    default:
        TRY(elementwise(maker, at, pool, &made));
    }
    put(maker, pool, made);
    return NULL;
}

static Error *fill(Maker *maker, IrBlock *block, Pool *pool, uint32_t depth) {
    uint32_t count = 1 + draw(maker, STATEMENTS_MAX);
    for (uint32_t i = 0; i < count; i++) TRY(statement(maker, block, pool, depth));
    return NULL;
}

static Error *make_main(Maker *maker) {
    uint32_t symbol;
    IrFunction *function;
    IrVariable *parameter;
    Pool pool = {.count = 0};
    TRY(ir_module_symbol(maker->module, "n", &symbol));
    TRY(ir_function_create(maker->module, "main", true, NULL, &function));
    IrType x = ir_type_shaped(DTYPE_FLOAT32, 2, (int64_t[]){2, 3});
    IrType y = ir_type_shaped(DTYPE_FLOAT32, 2, (int64_t[]){ir_dim_symbol(symbol), 3});
    IrType k = ir_type_shaped(DTYPE_INT64, 0, NULL);
    TRY(ir_function_add_parameter(function, "x", &x, &pool.items[pool.count++]));
    TRY(ir_function_add_parameter(function, "y", &y, &pool.items[pool.count++]));
    TRY(ir_function_add_parameter(function, "k", &k, &parameter));
    TRY(ir_build_read_scalar(ir_at_end(function->body), parameter, IR_TYPE_INT, &maker->trips));
    TRY(fill(maker, function->body, &pool, 0));
    TRY(fill(maker, function->body, &pool, 0));
    IrVariable *results[3];
    uint32_t count = 1 + draw(maker, 3);
    for (uint32_t i = 0; i < count; i++) results[i] = pick(maker, &pool);
    return ir_function_set_results(function, count, results, NULL, NULL);
}

Error *random_module_create(uint64_t seed, IrModule **out) {
    OWN(IrModule, module) = NULL;
    TRY(ir_module_create(&module));
    Maker maker = {.module = module, .state = seed};
    TRY(ir_constructor_create(module, "option", "none", 0, &maker.none));
    TRY(ir_constructor_create(module, "option", "some", 1, &maker.some));
    TRY(make_main(&maker));
    *out = TAKE(module);
    return NULL;
}
