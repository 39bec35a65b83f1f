/* FlexAttention of ai.onnx.preview: becomes Attention, or, if graphs of the model change scores or
 * probabilities, the steps of Attention with those graphs between them. */
#include "compiler/frontend/base/onnx_internal.h"

/* Dimensions begin … end - 1 of a tensor, as an int64 vector. */
static Error *dims_of(
    const OnnxNode *node, IrVariable *tensor, int64_t begin, int64_t end, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "start", begin));
    TRY(attributes_set_int(attributes, "end", end));
    return ir_build_simple(onnx_at(node), "Shape", attributes, tensor, NULL, NULL, out);
}

/* Reshapes to dims, then the remaining elements, then more_dims (NULL: none). */
static Error *reshape(const OnnxNode *node, IrVariable *tensor, IrVariable *dims,
    IrVariable *more_dims, IrVariable **out) {
    static const int64_t rest = -1;
    IrVariable *parts[3] = {dims, NULL, more_dims}, **shape;
    OWN(Attributes, attributes) = NULL;
    TRY(onnx_constant_ints(node, &rest, 1, &parts[1]));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", 0));
    TRY(ir_build_operator(
        onnx_at(node), "Concat", attributes, more_dims ? 3 : 2, parts, 1, &shape));
    return ir_build_simple(onnx_at(node), "Reshape", NULL, tensor, shape[0], NULL, out);
}

/* Reads the element type in which softmax and the graphs compute. */
static Error *read_precision(const OnnxNode *node, DType *out) {
    const DType given = onnx_float_type(node->inputs[0]);
    int64_t precision;
    TRY(onnx_attribute_int(node, "softmax_precision",
        given == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32, &precision));
    if (precision < 0 || precision >= DTYPE_COUNT || !(DTYPES_FLOAT >> precision & 1))
        FAIL(INVALID, "softmax_precision is no float type");
    *out = (DType)precision;
    return NULL;
}

/* The scale in the type of the query: the attribute, or 1 / sqrt(size of a head). */
static Error *make_scale(const OnnxNode *node, IrVariable **out) {
    const Onnx__AttributeProto *given = onnx_attribute_find(node, "scale");
    IrVariable *scale, *query = node->inputs[0];
    if (given && given->has_f) {
        TRY(onnx_constant_float0(node, (double)given->f, DTYPE_FLOAT32, &scale));
    } else {
        TRY(dims_of(node, query, 3, 4, &scale));
        TRY(ir_build_cast(onnx_at(node), scale, DTYPE_FLOAT32, &scale));
        TRY(ir_build_simple(onnx_at(node), "Sqrt", NULL, scale, NULL, NULL, &scale));
        TRY(ir_build_simple(onnx_at(node), "Reciprocal", NULL, scale, NULL, NULL, &scale));
    }
    return ir_build_simple(onnx_at(node), "CastLike", NULL, scale, query, NULL, out);
}

/* scale * Q K' [batch, heads, rows, keys]. The rows of all heads that share a key head form one
 * matrix. */
static Error *make_scores(const OnnxNode *node, DType precision, IrVariable **out) {
    static const int64_t perm[4] = {0, 1, 3, 2};
    IrVariable *query = node->inputs[0], *key = node->inputs[1], *scale, *groups, *size, *rows;
    IrVariable *scores;
    TRY(make_scale(node, &scale));
    TRY(dims_of(node, key, 0, 2, &groups));
    TRY(dims_of(node, query, 3, 4, &size));
    TRY(dims_of(node, query, 0, 3, &rows));
    TRY(ir_build_simple(onnx_at(node), "Mul", NULL, query, scale, NULL, &scores));
    TRY(reshape(node, scores, groups, size, &scores));
    TRY(ir_build_transpose(onnx_at(node), key, 4, perm, &key));
    TRY(ir_build_simple(onnx_at(node), "MatMul", NULL, scores, key, NULL, &scores));
    TRY(reshape(node, scores, rows, NULL, &scores));
    return ir_build_cast(onnx_at(node), scores, precision, out);
}

/* Multiplies the probabilities by V, in the query's type. */
static Error *weigh(
    const OnnxNode *node, DType precision, IrVariable *probabilities, IrVariable **out) {
    IrVariable *query = node->inputs[0], *value, *groups, *keys, *rows, *result;
    TRY(dims_of(node, node->inputs[1], 0, 2, &groups));
    TRY(dims_of(node, node->inputs[1], 2, 3, &keys));
    TRY(dims_of(node, query, 0, 3, &rows));
    TRY(ir_build_cast(onnx_at(node), node->inputs[2], precision, &value));
    TRY(reshape(node, probabilities, groups, keys, &result));
    TRY(ir_build_simple(onnx_at(node), "MatMul", NULL, result, value, NULL, &result));
    TRY(reshape(node, result, rows, NULL, &result));
    return ir_build_simple(onnx_at(node), "CastLike", NULL, result, query, NULL, out);
}

/* Applies the graph attribute of that name to the tensor, if the node has it. */
static Error *modify(const OnnxNode *node, const char *name, IrVariable **inout_tensor) {
    const Onnx__GraphProto *graph;
    OnnxScope scope;
    IrVariable **results;
    if (!onnx_attribute_find(node, name)) return NULL;
    TRY(onnx_attribute_graph(node, name, &graph));
    if (graph->n_input != 1 || graph->n_output != 1)
        FAIL(INVALID, "%s with %zu inputs and %zu outputs, not one", name, graph->n_input,
            graph->n_output);
    TRY(onnx_scope_init(&scope, node->scope, node->scope->block));
    const char *input = graph->input[0]->name ? graph->input[0]->name : "";
    Error *error = onnx_scope_set(&scope, input, *inout_tensor);
    if (!error) error = onnx_graph_body(node->import, &scope, graph, &results);
    onnx_scope_deinit(&scope);
    TRY_WRAP(error, "%s", name);
    *inout_tensor = results[0];
    return NULL;
}

Error *onnx_convert_flex_attention(const OnnxNode *node) {
    static const char *const known[] = {
        "score_mod", "prob_mod", "scale", "softmax_precision", NULL};
    IrVariable *value;
    DType precision;
    for (uint32_t i = 0; i < 3; i++)
        if (!onnx_input(node, i)) FAIL(INVALID, "input %u is missing", i);
    if (!onnx_attribute_find(node, known[0]) && !onnx_attribute_find(node, known[1]))
        return onnx_node_emit(node, "Attention", NULL, 3, node->inputs);
    TRY(onnx_attribute_check(node, known));
    TRY(read_precision(node, &precision));
    TRY(make_scores(node, precision, &value));
    TRY(modify(node, known[0], &value));
    TRY(ir_build_simple(onnx_at(node), "Softmax", NULL, value, NULL, NULL, &value));
    TRY(modify(node, known[1], &value));
    TRY(weigh(node, precision, value, &value));
    return onnx_node_set_output(node, 0, value);
}
