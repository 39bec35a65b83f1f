/* The graphs that the node of a composition has as attributes: calls, and what is asked of them. */
#include "compiler/frontend/nodes/onnx_composition_internal.h"

IrVariable *const *composer_values(const ComposedValue *value, uint32_t *out_count) {
    *out_count = value->kind == COMPOSED_LIST ? value->list_count : 1;
    return value->kind == COMPOSED_LIST ? value->list : &value->variable;
}

Error *composer_make_values(const Composer *composer, uint64_t count, IrVariable ***out) {
    void *memory;
    TRY(arena_alloc(&composer->node->import->module->arena, count, sizeof(IrVariable *), &memory));
    *out = memory;
    return NULL;
}

static Error *bind_inputs(const Onnx__GraphProto *graph, OnnxScope *scope,
    const ComposedValue *arguments, uint32_t argument_count) {
    uint32_t given = 0, count;
    for (uint32_t i = 0; i < argument_count; i++) {
        IrVariable *const *values = composer_values(&arguments[i], &count);
        for (uint32_t j = 0; j < count; j++, given++)
            if (given < graph->n_input)
                TRY(onnx_scope_set(
                    scope, graph->input[given]->name ? graph->input[given]->name : "", values[j]));
    }
    if (given != graph->n_input)
        FAIL(UNSUPPORTED, "%zu inputs, where %u are known", graph->n_input, given);
    return NULL;
}

Error *composer_call_graph(Composer *composer, const char *name, const ComposedValue *arguments,
    uint32_t argument_count, uint32_t result_count, ComposedValue *out_results) {
    const OnnxNode *node = composer->node;
    const Onnx__GraphProto *graph;
    OnnxScope scope;
    IrVariable **results = NULL;
    TRY(onnx_attribute_graph(node, name, &graph));
    if (graph->n_output < result_count)
        FAIL(INVALID, "%s has %zu outputs; at least %u are wanted", name, graph->n_output,
            result_count);
    TRY(onnx_scope_init(&scope, node->scope, node->scope->block));
    Error *error = bind_inputs(graph, &scope, arguments, argument_count);
    if (!error) error = onnx_graph_body(node->import, &scope, graph, &results);
    onnx_scope_deinit(&scope);
    TRY_WRAP(error, "%s", name);
    for (uint32_t i = 0; i + 1 < result_count; i++)
        out_results[i] = (ComposedValue){.variable = results[i]};
    out_results[result_count - 1] = (ComposedValue){.kind = COMPOSED_LIST,
        .list = results + result_count - 1,
        .list_count = (uint32_t)graph->n_output - (result_count - 1)};
    return NULL;
}

/* A cache of keys and values without places, [2, batch, heads, 0, size], or of one of the two,
 * [batch, heads, 0, size]. */
static Error *make_empty(
    const Composer *composer, const IrType *type, IrVariable *batch, IrVariable **out) {
    const OnnxNode *node = composer->node;
    const IrCursor at = onnx_at(node);
    const uint32_t heads = type->rank - 3;
    const int64_t two = 2, behind[3] = {type->dims[heads], 0, type->dims[heads + 2]};
    IrVariable *parts[3] = {NULL, batch, NULL}, **dims, *zero;
    OWN(Attributes, joined) = NULL;
    TRY(attributes_create(&joined));
    TRY(attributes_set_int(joined, "axis", 0));
    TRY(onnx_constant_ints(node, &two, 1, &parts[0]));
    TRY(onnx_constant_ints(node, behind, 3, &parts[2]));
    const uint32_t first = heads == 2 ? 0 : 1;
    TRY(ir_build_operator(at, "Concat", joined, 3 - first, parts + first, 1, &dims));
    TRY(onnx_constant_float0(node, 0, type->dtype, &zero));
    return ir_build_simple(at, "Expand", NULL, zero, dims[0], NULL, out);
}

static bool is_cache(const IrType *type, bool both) {
    const uint32_t rank = both ? 5 : 4;
    if (type->kind != IR_TYPE_TENSOR || !type->rank_known || !dtype_is_float(type->dtype))
        return false;
    return type->rank == rank && (!both || type->dims[0] == 2) && type->dims[rank - 3] > 0 &&
           type->dims[rank - 1] > 0;
}

static Error *make_caches(Composer *composer, const char *name, bool both, int64_t first,
    int64_t count, IrVariable *batch, ComposedValue *out) {
    const Onnx__GraphProto *graph;
    TRY(onnx_attribute_graph(composer->node, name, &graph));
    if (first < 0 || count < 1 || (uint64_t)first + (uint64_t)count > graph->n_input)
        FAIL(INVALID, "%s has %zu inputs: there is no cache among them", name, graph->n_input);
    *out = (ComposedValue){.kind = COMPOSED_LIST, .list_count = (uint32_t)count};
    TRY(composer_make_values(composer, out->list_count, &out->list));
    for (uint32_t i = 0; i < out->list_count; i++) {
        const Onnx__ValueInfoProto *input = graph->input[(size_t)first + i];
        IrType type;
        TRY(onnx_graph_type(composer->node->import->module, input, &type));
        if (!is_cache(&type, both))
            FAIL(UNSUPPORTED,
                "input %s of %s is no cache of floats [%sbatch, heads, places, size]; export the "
                "model without past_present_share_buffer",
                input->name ? input->name : "", name, both ? "2, " : "");
        TRY(make_empty(composer, &type, batch, &out->list[i]));
    }
    return NULL;
}

Error *composer_read_caches(Composer *composer, bool both, ComposedValue *out) {
    char name[COMPOSITION_NAME_SIZE];
    ComposedValue first, count, batch;
    if (!composer_take(composer, "(") || !composer_take_name(composer, name) ||
        !composer_take(composer, ","))
        return composer_fail(composer, "a graph");
    TRY(composer_read_expression(composer, 1, &first));
    if (!composer_take(composer, ",")) return composer_fail(composer, ",");
    TRY(composer_read_expression(composer, 1, &count));
    if (!composer_take(composer, ",")) return composer_fail(composer, ",");
    TRY(composer_read_factor(composer, &batch));
    if (!composer_take(composer, ")")) return composer_fail(composer, ")");
    return make_caches(composer, name, both, first.int_value, count.int_value, batch.variable, out);
}

/* ---- questions ---- */

static bool is_named(const Onnx__ValueInfoProto *input, const char *name) {
    return input->name && strcmp(input->name, name) == 0;
}

/* The second dimension of an input, or -1. */
static Error *width_of(
    Composer *composer, const Onnx__GraphProto *graph, const char *name, int64_t *out) {
    IrType type;
    *out = -1;
    for (size_t i = 0; i < graph->n_input; i++) {
        if (!is_named(graph->input[i], name)) continue;
        TRY(onnx_graph_type(composer->node->import->module, graph->input[i], &type));
        if (type.kind == IR_TYPE_TENSOR && type.rank_known && type.rank > 1) *out = type.dims[1];
    }
    return NULL;
}

static Error *ask_graph(
    Composer *composer, const char *question, const char *name, const char *input, int64_t *out) {
    const Onnx__GraphProto *graph;
    TRY(onnx_attribute_graph(composer->node, name, &graph));
    *out = 0;
    if (strcmp(question, "inputs") == 0)
        *out = (int64_t)graph->n_input;
    else if (strcmp(question, "outputs") == 0)
        *out = (int64_t)graph->n_output;
    else if (strcmp(question, "width") == 0)
        return width_of(composer, graph, input, out);
    else
        for (size_t i = 0; i < graph->n_input; i++) *out |= is_named(graph->input[i], input);
    return NULL;
}

Error *composer_read_question(Composer *composer, const char *question, ComposedValue *out) {
    char name[COMPOSITION_NAME_SIZE];
    ComposedValue input = {0};
    int64_t number;
    if (!composer_take(composer, "(") || !composer_take_name(composer, name))
        return composer_fail(composer, "a graph");
    if (composer_take(composer, ",")) TRY(composer_read_factor(composer, &input));
    if (!composer_take(composer, ")")) return composer_fail(composer, ")");
    TRY(ask_graph(composer, question, name, input.text ? input.text : "", &number));
    *out = (ComposedValue){0};
    if (number >= 0) *out = (ComposedValue){.kind = COMPOSED_INT, .int_value = number};
    return NULL;
}
