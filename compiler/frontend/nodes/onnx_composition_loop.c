/* The loops of a composition, and the graphs that its node has as attributes. */
#include <stdio.h>

#include "compiler/frontend/nodes/onnx_composition_internal.h"

/* What a loop carries from round to round. A list is as many values as it has. */
typedef struct Carried {
    char names[COMPOSITION_CALL_MAX][COMPOSITION_NAME_SIZE];
    uint32_t counts[COMPOSITION_CALL_MAX]; /* values behind each name */
    uint32_t count, value_count;
} Carried;

/* The value of a name, or those of a list. */
static IrVariable *const *values_of(const ComposedValue *value, uint32_t *out_count) {
    *out_count = value->kind == COMPOSED_LIST ? value->list_count : 1;
    return value->kind == COMPOSED_LIST ? value->list : &value->variable;
}

static Error *make_values(const Composer *composer, uint64_t count, IrVariable ***out) {
    void *memory;
    TRY(arena_alloc(&composer->node->import->module->arena, count, sizeof(IrVariable *), &memory));
    *out = memory;
    return NULL;
}

/* The values of all names, one after the other. */
static Error *collect(Composer *composer, Carried *carried, IrVariable ***out) {
    ComposedValue values[COMPOSITION_CALL_MAX];
    uint32_t total = 0, count;
    for (uint32_t i = 0; i < carried->count; i++) {
        TRY(composer_look_up(composer, carried->names[i], &values[i]));
        (void)values_of(&values[i], &count);
        if (values[i].kind != COMPOSED_LIST &&
            (values[i].kind != COMPOSED_VARIABLE || !values[i].variable))
            return composer_fail(composer, "values that a loop can carry");
        if (carried->value_count && count != carried->counts[i])
            FAIL(INVALID, "%s: %u values become %u in a round", carried->names[i],
                carried->counts[i], count);
        carried->counts[i] = count;
        total += count;
    }
    carried->value_count = total;
    TRY(make_values(composer, total, out));
    IrVariable **to = *out;
    for (uint32_t i = 0; i < carried->count; i++) {
        IrVariable *const *from = values_of(&values[i], &count);
        for (uint32_t j = 0; j < count; j++) *to++ = from[j];
    }
    return NULL;
}

/* Gives the names these values. */
static Error *spread(
    Composer *composer, const Carried *carried, const ComposedValue *like, IrVariable **from) {
    for (uint32_t i = 0; i < carried->count; i++) {
        ComposedValue value = {.kind = like[i].kind};
        if (value.kind == COMPOSED_LIST) {
            value.list = from;
            value.list_count = carried->counts[i];
        } else {
            value.variable = from[0];
        }
        from += carried->counts[i];
        TRY(composer_set_name(composer, carried->names[i], value));
    }
    return NULL;
}

static Error *fill_round(
    Composer *composer, const char *go, Carried *carried, const ComposedValue *like, IrLoop *loop) {
    ComposedValue condition;
    IrVariable **next;
    TRY(spread(composer, carried, like, loop->carried));
    TRY(composer_carry_out(composer, "}"));
    TRY(collect(composer, carried, &next));
    TRY(composer_look_up(composer, go, &condition));
    return ir_build_loop_end(loop, condition.variable, next);
}

/* The names of a loop's values, up to '{'. */
static Error *read_names(Composer *composer, Carried *out) {
    do {
        if (out->count == COMPOSITION_CALL_MAX ||
            !composer_take_name(composer, out->names[out->count]))
            return composer_fail(composer, "a name");
        out->count++;
    } while (composer_take(composer, ","));
    return composer_take(composer, "{") ? NULL : composer_fail(composer, "{");
}

Error *composer_read_loop(Composer *composer) {
    const OnnxNode *node = composer->node;
    Carried carried = {0};
    ComposedValue rounds, condition, like[COMPOSITION_CALL_MAX];
    char go[COMPOSITION_NAME_SIZE];
    IrVariable *trip_count, **initial;
    IrLoop loop;
    OnnxScope scope;
    TRY(composer_read_expression(composer, 1, &rounds));
    if (!composer_take(composer, "while") || !composer_take_name(composer, go) ||
        !composer_take(composer, ":"))
        return composer_fail(composer, "while, a name and :");
    TRY(read_names(composer, &carried));
    TRY(composer_look_up(composer, go, &condition));
    TRY(collect(composer, &carried, &initial));
    for (uint32_t i = 0; i < carried.count; i++)
        TRY(composer_look_up(composer, carried.names[i], &like[i]));
    TRY(ir_build_read_scalar(onnx_at(node), rounds.variable, IR_TYPE_INT, &trip_count));
    TRY(ir_build_loop(onnx_at(node), onnx_node_label(node->proto), trip_count, condition.variable,
        carried.value_count, initial, NULL, &loop));
    /* what the body names is not there behind the loop */
    const uint32_t count = composer->count;
    ComposedName names[COMPOSITION_NAMES_MAX];
    memcpy(names, composer->names, sizeof names);
    TRY(onnx_scope_init(&scope, node->scope, loop.body));
    OnnxNode inner = *node;
    inner.scope = &scope;
    composer->node = &inner;
    Error *error = fill_round(composer, go, &carried, like, &loop);
    onnx_scope_deinit(&scope);
    composer->node = node;
    composer->count = count;
    memcpy(composer->names, names, sizeof names);
    TRY(error);
    return spread(composer, &carried, like, loop.results);
}

/* ---- graphs ---- */

static Error *bind_inputs(const Onnx__GraphProto *graph, OnnxScope *scope,
    const ComposedValue *arguments, uint32_t argument_count) {
    uint32_t given = 0, count;
    for (uint32_t i = 0; i < argument_count; i++) {
        IrVariable *const *values = values_of(&arguments[i], &count);
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

/* The dimensions of a cache [2, batch, heads, 0, size] of keys and values without places. */
static Error *make_empty(
    const Composer *composer, const IrType *type, IrVariable *batch, IrVariable **out) {
    const OnnxNode *node = composer->node;
    const IrCursor at = onnx_at(node);
    const int64_t two = 2, behind[3] = {type->dims[2], 0, type->dims[4]};
    IrVariable *parts[3] = {NULL, batch, NULL}, **dims, *zero;
    OWN(Attributes, joined) = NULL;
    TRY(attributes_create(&joined));
    TRY(attributes_set_int(joined, "axis", 0));
    TRY(onnx_constant_ints(node, &two, 1, &parts[0]));
    TRY(onnx_constant_ints(node, behind, 3, &parts[2]));
    TRY(ir_build_operator(at, "Concat", joined, 3, parts, 1, &dims));
    TRY(onnx_constant_float0(node, 0, type->dtype, &zero));
    return ir_build_simple(at, "Expand", NULL, zero, dims[0], NULL, out);
}

Error *composer_make_caches(
    Composer *composer, const char *name, int64_t first, IrVariable *batch, ComposedValue *out) {
    const Onnx__GraphProto *graph;
    TRY(onnx_attribute_graph(composer->node, name, &graph));
    if (graph->n_input <= (size_t)first)
        FAIL(INVALID, "%s has %zu inputs: there is no cache among them", name, graph->n_input);
    *out = (ComposedValue){
        .kind = COMPOSED_LIST, .list_count = (uint32_t)(graph->n_input - (size_t)first)};
    TRY(make_values(composer, out->list_count, &out->list));
    for (uint32_t i = 0; i < out->list_count; i++) {
        const Onnx__ValueInfoProto *input = graph->input[(size_t)first + i];
        IrType type;
        TRY(onnx_graph_type(composer->node->import->module, input, &type));
        const bool is_cache = type.kind == IR_TYPE_TENSOR && type.rank_known && type.rank == 5 &&
                              type.dims[0] == 2 && type.dims[2] > 0 && type.dims[4] > 0 &&
                              dtype_is_float(type.dtype);
        if (!is_cache)
            FAIL(UNSUPPORTED,
                "input %s of %s is no cache of floats [2, batch, heads, places, size]; export the "
                "model without past_present_share_buffer",
                input->name ? input->name : "", name);
        TRY(make_empty(composer, &type, batch, &out->list[i]));
    }
    return NULL;
}
