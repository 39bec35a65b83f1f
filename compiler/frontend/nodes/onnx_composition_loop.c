/* The loops of a composition. */
#include "compiler/frontend/nodes/onnx_composition_internal.h"

/* What a loop carries from round to round. A list is as many values as it has. */
typedef struct Carried {
    char names[COMPOSITION_CALL_MAX][COMPOSITION_NAME_SIZE];
    uint32_t counts[COMPOSITION_CALL_MAX]; /* values behind each name */
    uint32_t count, value_count;
} Carried;

/* The values of all names, one after the other. */
static Error *collect(Composer *composer, Carried *carried, IrVariable ***out) {
    ComposedValue values[COMPOSITION_CALL_MAX];
    uint32_t total = 0, count;
    for (uint32_t i = 0; i < carried->count; i++) {
        TRY(composer_look_up(composer, carried->names[i], &values[i]));
        (void)composer_values(&values[i], &count);
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
    TRY(composer_make_values(composer, total, out));
    IrVariable **to = *out;
    for (uint32_t i = 0; i < carried->count; i++) {
        IrVariable *const *from = composer_values(&values[i], &count);
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
