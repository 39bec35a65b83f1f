#include "tests/compiler/random_outputs.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

enum { NAME_SIZE = 16, TEXT_SIZE = 256, POOL_MAX = 16, DEPTH_MAX = 2, STATEMENTS_MAX = 3 };

typedef struct Maker {
    uint64_t state;
    uint32_t names;
    OnnxGraph *root; /* has the constants */
} Maker;

typedef struct Name {
    char text[NAME_SIZE];
} Name;

/* What a graph can use: float32[6,20], and small tensors of any kind and shape. */
typedef struct Pool {
    Name large[POOL_MAX], small[POOL_MAX];
    uint32_t large_count, small_count;
} Pool;

static uint32_t draw(Maker *maker, uint32_t below) {
    return (uint32_t)(test_random(&maker->state) % below);
}

static Name fresh(Maker *maker) {
    Name name;
    (void)snprintf(name.text, sizeof name.text, "v%u", maker->names++);
    return name;
}

static void put(Maker *maker, Name *names, uint32_t *inout_count, Name name) {
    if (*inout_count < POOL_MAX)
        names[(*inout_count)++] = name;
    else
        names[draw(maker, POOL_MAX)] = name;
}

static Name pick(Maker *maker, const Pool *pool) {
    return pool->large[draw(maker, pool->large_count)];
}

__attribute__((format(printf, 4, 5))) static OnnxNodeProto *node(
    OnnxGraph *graph, const char *type, const char *outputs, const char *format, ...) {
    char inputs[TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(inputs, sizeof inputs, format, arguments);
    va_end(arguments);
    return onnx_add_node(graph, type, inputs, outputs);
}

/* A constant of one value all over. */
static Name filled(Maker *maker, const char *type, uint32_t count, double value) {
    Name name = fresh(maker);
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, type);
    for (uint32_t i = 0; i < count; i++)
        text_appendf(&text, " %g", value + (value != 0 && count > 1 ? i % 5 * 0.125 : 0));
    onnx_add_initializer(maker->root, name.text, text_builder_get(&text));
    return name;
}

static Name ints(Maker *maker, const char *tensor) {
    Name name = fresh(maker);
    onnx_add_initializer(maker->root, name.text, tensor);
    return name;
}

/* One number of whatever the tensor is, as float32[]: 0 … 3. */
static Name number(Maker *maker, OnnxGraph *graph, Name of) {
    Name cast = fresh(maker), flat = fresh(maker), most = fresh(maker), size = fresh(maker);
    Name limit = filled(maker, "float32[]", 1, 3), rest = fresh(maker);
    onnx_set_int(node(graph, "Cast", cast.text, "%s", of.text), "to", 1);
    node(graph, "Reshape", flat.text, "%s,%s", cast.text, ints(maker, "int64[1] -1").text);
    onnx_set_int(node(graph, "ReduceMax", most.text, "%s", flat.text), "keepdims", 0);
    node(graph, "Abs", size.text, "%s", most.text);
    node(graph, "Min", rest.text, "%s,%s", size.text, limit.text);
    return rest;
}

/* Something of the tensor that a float32[6,20] can be added to. */
static Name mixed_in(Maker *maker, OnnxGraph *graph, Name large, Name small) {
    Name sum = fresh(maker);
    node(graph, "Add", sum.text, "%s,%s", large.text, number(maker, graph, small).text);
    return sum;
}

/* ---- operators with several outputs ---- */

typedef struct Made {
    Name large, small[3];
    uint32_t small_count;
} Made;

static Made make_split(Maker *maker, OnnxGraph *graph, Name x) {
    Made made = {.large = fresh(maker), .small_count = 1};
    Name most = fresh(maker), sizes = ints(maker, "int64[2] 5 1");
    char outputs[2 * NAME_SIZE];
    made.small[0] = fresh(maker);
    (void)snprintf(outputs, sizeof outputs, "%s,%s", most.text, made.small[0].text);
    onnx_set_int(node(graph, "Split", outputs, "%s,%s", x.text, sizes.text), "axis", 0);
    onnx_set_int(
        node(graph, "Concat", made.large.text, "%s,%s", made.small[0].text, most.text), "axis", 0);
    return made;
}

static Made make_top(Maker *maker, OnnxGraph *graph, Name x) {
    Made made = {.large = x, .small_count = 2};
    Name count = ints(maker, draw(maker, 2) ? "int64[1] 12" : "int64[1] 2");
    char outputs[2 * NAME_SIZE];
    made.small[0] = fresh(maker);
    made.small[1] = fresh(maker);
    (void)snprintf(outputs, sizeof outputs, "%s,%s", made.small[0].text, made.small[1].text);
    onnx_set_int(node(graph, "TopK", outputs, "%s,%s", x.text, count.text), "axis", 1);
    return made;
}

/* type: of two or three outputs, the first like x, with a large input and what else is given. */
static Made make_normal(Maker *maker, OnnxGraph *graph, Name x, bool batch) {
    Made made = {.large = fresh(maker), .small_count = 2};
    char outputs[3 * NAME_SIZE];
    made.small[0] = fresh(maker);
    made.small[1] = fresh(maker);
    (void)snprintf(outputs, sizeof outputs, "%s,%s,%s", made.large.text, made.small[0].text,
        made.small[1].text);
    Name scale = filled(maker, "float32[20]", 20, 1), bias = filled(maker, "float32[20]", 20, 0.5);
    if (!batch) {
        node(graph, "LayerNormalization", outputs, "%s,%s,%s", x.text, scale.text, bias.text);
        return made;
    }
    onnx_set_int(node(graph, "BatchNormalization", outputs, "%s,%s,%s,%s,%s", x.text, scale.text,
                     bias.text, bias.text, scale.text),
        "training_mode", 1);
    return made;
}

static Made make_recurrent(Maker *maker, OnnxGraph *graph, Name x, bool lstm) {
    Made made = {.large = fresh(maker), .small_count = lstm ? 2 : 1};
    Name sequence = fresh(maker), out = fresh(maker), cut = fresh(maker);
    const uint32_t gates = lstm ? 4 : 3;
    char outputs[3 * NAME_SIZE], type[TEXT_SIZE];
    node(graph, "Reshape", sequence.text, "%s,%s", x.text, ints(maker, "int64[3] -1 1 20").text);
    (void)snprintf(type, sizeof type, "float32[1,%u,20]", 20 * gates);
    Name weights = filled(maker, type, 20 * gates * 20, 0.0625);
    made.small[0] = fresh(maker);
    made.small[1] = fresh(maker);
    (void)snprintf(outputs, sizeof outputs, lstm ? "%s,%s,%s" : "%s,%s", out.text,
        made.small[0].text, made.small[1].text);
    onnx_set_int(node(graph, lstm ? "LSTM" : "GRU", outputs, "%s,%s,%s", sequence.text,
                     weights.text, weights.text),
        "hidden_size", 20);
    node(graph, "Reshape", cut.text, "%s,%s", out.text, ints(maker, "int64[2] -1 20").text);
    node(graph, "Add", made.large.text, "%s,%s", cut.text, x.text);
    return made;
}

static Made make_quantized(Maker *maker, OnnxGraph *graph, Name x) {
    Made made = {.large = fresh(maker), .small_count = 2};
    Name bytes = fresh(maker);
    char outputs[3 * NAME_SIZE];
    made.small[0] = fresh(maker);
    made.small[1] = fresh(maker);
    (void)snprintf(
        outputs, sizeof outputs, "%s,%s,%s", bytes.text, made.small[0].text, made.small[1].text);
    node(graph, "DynamicQuantizeLinear", outputs, "%s", x.text);
    node(graph, "DequantizeLinear", made.large.text, "%s,%s,%s", bytes.text, made.small[0].text,
        made.small[1].text);
    return made;
}

static Made make_pooled(Maker *maker, OnnxGraph *graph, Name x) {
    Made made = {.large = x, .small_count = 2};
    Name image = fresh(maker);
    char outputs[2 * NAME_SIZE];
    made.small[0] = fresh(maker);
    made.small[1] = fresh(maker);
    (void)snprintf(outputs, sizeof outputs, "%s,%s", made.small[0].text, made.small[1].text);
    node(graph, "Reshape", image.text, "%s,%s", x.text, ints(maker, "int64[4] 1 1 -1 20").text);
    OnnxNodeProto *pool = node(graph, "MaxPool", outputs, "%s", image.text);
    onnx_set_ints(pool, "kernel_shape", draw(maker, 2) ? "2 1" : "2 2");
    return made;
}

static Made make_unique(Maker *maker, OnnxGraph *graph, Name x, bool strings) {
    Made made = {.large = x, .small_count = 3};
    Name sorted = fresh(maker), from = x;
    char outputs[4 * NAME_SIZE];
    if (strings) {
        from = fresh(maker);
        onnx_set_int(node(graph, "Cast", from.text, "%s", x.text), "to", 8);
    }
    for (uint32_t i = 0; i < 3; i++) made.small[i] = fresh(maker);
    (void)snprintf(outputs, sizeof outputs, "%s,%s,%s,%s", sorted.text, made.small[0].text,
        made.small[1].text, made.small[2].text);
    node(graph, "Unique", outputs, "%s", from.text);
    if (strings && draw(maker, 2)) {
        made.large = fresh(maker);
        onnx_set_int(node(graph, "Cast", made.large.text, "%s", from.text), "to", 1);
    }
    return made;
}

static Made make_dropped(Maker *maker, OnnxGraph *graph, Name x) {
    Made made = {.large = fresh(maker), .small_count = 1};
    char outputs[2 * NAME_SIZE];
    made.small[0] = fresh(maker);
    (void)snprintf(outputs, sizeof outputs, "%s,%s", made.large.text, made.small[0].text);
    node(graph, "Dropout", outputs, "%s", x.text);
    return made;
}

/* Through a list whose tensors have other sizes than what is taken out. */
static Made make_listed(Maker *maker, OnnxGraph *graph, Name x) {
    Made made = make_split(maker, graph, x);
    Name list = fresh(maker), item = fresh(maker), at = ints(maker, "int64[] 1");
    node(graph, "SequenceConstruct", list.text, "%s,%s", made.large.text, made.small[0].text);
    node(graph, "SequenceAt", item.text, "%s,%s", list.text, at.text);
    made.small[0] = item;
    return made;
}

static Made operate(Maker *maker, OnnxGraph *graph, Name x) {
    switch (draw(maker, 12)) {
    case 0:
        return make_split(maker, graph, x);
    case 1:
        return make_top(maker, graph, x);
    case 2:
    case 3:
        return make_normal(maker, graph, x, draw(maker, 2));
    case 4:
    case 5:
        return make_recurrent(maker, graph, x, draw(maker, 2));
    case 6:
        return make_quantized(maker, graph, x);
    case 7:
        return make_pooled(maker, graph, x);
    case 8:
    case 9:
        return make_unique(maker, graph, x, draw(maker, 2));
    case 10:
        return make_listed(maker, graph, x);
    default:
        return make_dropped(maker, graph, x);
    }
}

/* ---- what small outputs decide ---- */

static void fill(Maker *maker, OnnxGraph *graph, Pool *pool, uint32_t depth);

static OnnxGraph *branch(Maker *maker, Pool pool, uint32_t depth, Name small) {
    OnnxGraph *graph = onnx_graph_make();
    Name result = fresh(maker), second = fresh(maker);
    fill(maker, graph, &pool, depth);
    node(graph, draw(maker, 2) ? "Neg" : "Identity", result.text, "%s", pick(maker, &pool).text);
    node(graph, "Identity", second.text, "%s", small.text);
    onnx_add_output(graph, result.text, "float32");
    onnx_add_output(graph, second.text, "float32");
    return graph;
}

static Name decide_if(Maker *maker, OnnxGraph *graph, Pool *pool, Name small, uint32_t depth) {
    Name measured = number(maker, graph, small), test = fresh(maker), result = fresh(maker);
    Name given = fresh(maker), limit = filled(maker, "float32[]", 1, draw(maker, 4));
    char outputs[2 * NAME_SIZE];
    node(graph, "Greater", test.text, "%s,%s", measured.text, limit.text);
    (void)snprintf(outputs, sizeof outputs, "%s,%s", result.text, given.text);
    OnnxNodeProto *made = node(graph, "If", outputs, "%s", test.text);
    onnx_set_graph(made, "then_branch", branch(maker, *pool, depth, measured));
    onnx_set_graph(made, "else_branch", branch(maker, *pool, depth, limit));
    return mixed_in(maker, graph, result, given);
}

static Name decide_loop(Maker *maker, OnnxGraph *graph, Pool *pool, Name small, uint32_t depth) {
    Name rounds = fresh(maker), result = fresh(maker), last = fresh(maker), scan = fresh(maker);
    Name carried = fresh(maker), counted = fresh(maker), round = fresh(maker), go = fresh(maker);
    Name start = number(maker, graph, small), more = fresh(maker), out = fresh(maker);
    Name scanned = fresh(maker), some = fresh(maker);
    char outputs[3 * NAME_SIZE];
    node(graph, "Max", some.text, "%s,%s", start.text, filled(maker, "float32[]", 1, 1).text);
    onnx_set_int(node(graph, "Cast", rounds.text, "%s", some.text), "to", 7);
    OnnxGraph *body = onnx_graph_make();
    onnx_add_input(body, round.text, "int64[]");
    onnx_add_input(body, go.text, "bool[]");
    onnx_add_input(body, carried.text, "float32[?,20]");
    onnx_add_input(body, counted.text, "float32[]");
    Pool inside = *pool;
    put(maker, inside.large, &inside.large_count, carried);
    put(maker, inside.small, &inside.small_count, counted);
    fill(maker, body, &inside, depth);
    Name next = number(maker, body, inside.small[draw(maker, inside.small_count)]);
    node(body, "Less", more.text, "%s,%s", next.text, filled(maker, "float32[]", 1, 2.5).text);
    node(body, "Identity", out.text, "%s", pick(maker, &inside).text);
    node(body, "Identity", scanned.text, "%s", next.text);
    onnx_add_output(body, more.text, "bool[]");
    onnx_add_output(body, out.text, "float32[?,20]");
    onnx_add_output(body, next.text, "float32[]");
    onnx_add_output(body, scanned.text, "float32[]");
    (void)snprintf(outputs, sizeof outputs, "%s,%s,%s", result.text, last.text, scan.text);
    onnx_set_graph(
        node(graph, "Loop", outputs, "%s,,%s,%s", rounds.text, pick(maker, pool).text, start.text),
        "body", body);
    put(maker, pool->small, &pool->small_count, last);
    return result;
}

static Name decide_shape(Maker *maker, OnnxGraph *graph, Name large, Name small) {
    Name length = fresh(maker), shape = fresh(maker), zeros = fresh(maker), sum = fresh(maker);
    Name result = fresh(maker);
    onnx_set_int(node(graph, "Cast", length.text, "%s", number(maker, graph, small).text), "to", 7);
    node(graph, "Reshape", shape.text, "%s,%s", length.text, ints(maker, "int64[1] 1").text);
    onnx_set_tensor(
        node(graph, "ConstantOfShape", zeros.text, "%s", shape.text), "value", "float32[1] 0.5");
    onnx_set_int(node(graph, "ReduceSum", sum.text, "%s", zeros.text), "keepdims", 0);
    node(graph, "Sub", result.text, "%s,%s", large.text, sum.text);
    return result;
}

static void statement(Maker *maker, OnnxGraph *graph, Pool *pool, uint32_t depth) {
    Made made = operate(maker, graph, pick(maker, pool));
    Name small = made.small[draw(maker, made.small_count)], result;
    put(maker, pool->large, &pool->large_count, made.large);
    for (uint32_t i = 0; i < made.small_count; i++)
        put(maker, pool->small, &pool->small_count, made.small[i]);
    switch (draw(maker, depth < DEPTH_MAX ? 4 : 2)) {
    case 0:
        result = mixed_in(maker, graph, made.large, small);
        break;
    case 1:
        result = decide_shape(maker, graph, made.large, small);
        break;
    case 2:
        result = decide_if(maker, graph, pool, small, depth + 1);
        break;
    default:
        result = decide_loop(maker, graph, pool, small, depth + 1);
    }
    put(maker, pool->large, &pool->large_count, result);
}

static void fill(Maker *maker, OnnxGraph *graph, Pool *pool, uint32_t depth) {
    const uint32_t count = 1 + draw(maker, STATEMENTS_MAX);
    for (uint32_t i = 0; i < count; i++) statement(maker, graph, pool, depth);
}

OnnxModel *random_outputs_make(uint64_t seed) {
    OnnxModel *model = onnx_model_make(21);
    Maker maker = {.state = seed * 7919, .root = model->graph};
    Pool pool = {.large = {{"x"}}, .large_count = 1};
    onnx_add_input(model->graph, "x", draw(&maker, 2) ? "float32[6,20]" : "float32[n,20]");
    fill(&maker, model->graph, &pool, 0);
    const Name last = pool.large[pool.large_count - 1];
    node(model->graph, "Identity", "y", "%s", last.text);
    onnx_add_output(model->graph, "y", "float32");
    if (draw(&maker, 2)) {
        Name small = number(&maker, model->graph, pool.small[draw(&maker, pool.small_count)]);
        node(model->graph, "Identity", "z", "%s", small.text);
        onnx_add_output(model->graph, "z", "float32");
    }
    return model;
}
