/* Products, convolutions, pools and normalisations. */
#include <string.h>

#include "compiler/relay/relay_build_internal.h"

enum { WINDOW_RANK_MAX = 3 };

/* The number of results that a call states must be the weights'. */
static Error *check_units(const RelayOperatorCall *call, const char *name, int64_t there) {
    int64_t units;
    TRY(relay_get_int(call, name, there, &units));
    if (units != there && there >= 0)
        FAIL(
            INVALID, "%s is %lld, the weights have %lld", name, (long long)units, (long long)there);
    return NULL;
}

Error *relay_build_dense(RelayOperatorCall *call) {
    IrVariable *weights, *result;
    uint32_t rank, weight_rank;
    TRY(relay_rank(call, 0, &rank));
    TRY(relay_rank(call, 1, &weight_rank));
    if (rank < 1 || weight_rank != 2)
        FAIL(INVALID, "data of %u dimensions and weights of %u; 2 are wanted", rank, weight_rank);
    TRY(check_units(call, "units", call->types[1]->dims[0]));
    TRY(relay_same_dtype(call));
    TRY(ir_build_swap_last(call->at, call->inputs[1], 2, &weights));
    TRY(ir_build_simple(call->at, "MatMul", NULL, call->inputs[0], weights, NULL, &result));
    relay_give(call, result);
    return NULL;
}

/* target: whether a and b are transposed by default */
Error *relay_build_matmul(RelayOperatorCall *call) {
    IrVariable *a = call->inputs[0], *b = call->inputs[1], *result;
    uint32_t a_rank, b_rank;
    bool turn_a, turn_b;
    TRY(relay_rank(call, 0, &a_rank));
    TRY(relay_rank(call, 1, &b_rank));
    TRY(relay_get_bool(call, "transpose_a", call->row->target[0] == '1', &turn_a));
    TRY(relay_get_bool(call, "transpose_b", call->row->target[1] == '1', &turn_b));
    TRY(relay_same_dtype(call));
    if (turn_a) TRY(ir_build_swap_last(call->at, a, a_rank, &a));
    if (turn_b) TRY(ir_build_swap_last(call->at, b, b_rank, &b));
    TRY(ir_build_simple(call->at, "MatMul", NULL, a, b, NULL, &result));
    relay_give(call, result);
    return NULL;
}

/* A vector that lies along one axis of a tensor. */
static Error *along(
    RelayOperatorCall *call, IrVariable *vector, uint32_t axis, uint32_t rank, IrVariable **out) {
    int64_t axes[SHAPE_RANK_MAX];
    IrVariable *list;
    *out = vector;
    const uint32_t behind = rank - axis - 1;
    if (behind == 0) return NULL;
    for (uint32_t i = 0; i < behind; i++) axes[i] = i + 1;
    TRY(constants_ints(ir_cursor_module(call->at), 1, behind, axes, &list));
    return ir_build_simple(call->at, "Unsqueeze", NULL, vector, list, NULL, out);
}

Error *relay_build_bias_add(RelayOperatorCall *call) {
    IrVariable *bias, *result;
    uint32_t rank, axis, bias_rank;
    TRY(relay_rank(call, 0, &rank));
    TRY(relay_rank(call, 1, &bias_rank));
    TRY(relay_get_axis(call, "axis", rank, 1, &axis));
    if (bias_rank != 1) FAIL(INVALID, "a bias of %u dimensions", bias_rank);
    const int64_t there = call->types[0]->dims[axis], given = call->types[1]->dims[0];
    if (there >= 0 && given >= 0 && there != given)
        FAIL(INVALID, "a bias of %lld elements for a dimension of %lld", (long long)given,
            (long long)there);
    TRY(along(call, call->inputs[1], axis, rank, &bias));
    TRY(ir_build_simple(call->at, "Add", NULL, call->inputs[0], bias, NULL, &result));
    relay_give(call, result);
    return NULL;
}

/* ---- windows ---- */

/* Sets a list attribute of one number for each window dimension; one number stands for all. */
static Error *set_window(const RelayOperatorCall *call, const char *name, uint32_t rank,
    Attributes *attributes, const char *to) {
    int64_t values[RELAY_INTS_MAX];
    uint32_t count;
    TRY(relay_get_ints(call, name, values, &count));
    if (count == RELAY_ABSENT) return NULL;
    if (count != rank && count != 1)
        FAIL(INVALID, "attribute %s has %u numbers; %u are wanted", name, count, rank);
    for (uint32_t i = count; i < rank; i++) values[i] = values[0];
    return attributes_set_ints(attributes, to, values, rank);
}

/* padding: for all, for each dimension, or for the beginnings and the ends */
static Error *set_padding(const RelayOperatorCall *call, uint32_t rank, Attributes *attributes) {
    int64_t given[RELAY_INTS_MAX], pads[2 * WINDOW_RANK_MAX];
    uint32_t count;
    TRY(relay_get_ints(call, "padding", given, &count));
    if (count == RELAY_ABSENT) return NULL;
    if (count != 1 && count != rank && count != 2 * rank)
        FAIL(INVALID, "attribute padding has %u numbers; 1, %u or %u are wanted", count, rank,
            2 * rank);
    for (uint32_t i = 0; i < 2 * rank; i++)
        pads[i] = given[count == 1 ? 0 : count == rank ? i % rank : i];
    return attributes_set_ints(attributes, "pads", pads, 2 * rank);
}

/* Compares a layout such as NCHW with channels second ("NC…") or last ("N…C"). */
static Error *get_layout(
    const RelayOperatorCall *call, const char *name, uint32_t rank, bool *out_last) {
    static const char *const first[] = {"NCW", "NCHW", "NCDHW"};
    static const char *const last[] = {"NWC", "NHWC", "NDHWC"};
    const char *layout;
    TRY(relay_get_text(call, name, first[rank - 1], &layout));
    *out_last = strcmp(layout, last[rank - 1]) == 0;
    if (*out_last || layout[0] == '\0' || strcmp(layout, first[rank - 1]) == 0) return NULL;
    FAIL(
        UNSUPPORTED, "%s %.20s; %s and %s are read", name, layout, first[rank - 1], last[rank - 1]);
}

static Error *check_out_layout(const RelayOperatorCall *call, uint32_t rank, bool last) {
    bool out_last;
    const RelayValue *value = relay_attribute(call, "out_layout");
    if (!value || (value->kind == RELAY_VALUE_TEXT && value->text[0] == '\0')) return NULL;
    TRY(get_layout(call, "out_layout", rank, &out_last));
    if (out_last != last) FAIL(UNSUPPORTED, "an out_layout other than the data's");
    return NULL;
}

/* Moves the channels of an image to the second place, or back. */
static Error *move_channels(
    RelayOperatorCall *call, IrVariable *image, uint32_t rank, bool back, IrVariable **out) {
    int64_t perm[WINDOW_RANK_MAX + 2] = {0};
    perm[1] = back ? 2 : rank + 1;
    for (uint32_t i = 0; i < rank; i++) perm[i + 2] = back ? i + 3 : i + 1;
    if (back) perm[rank + 1] = 1;
    return ir_build_transpose(call->at, image, rank + 2, perm, out);
}

static Error *check_image(const RelayOperatorCall *call, uint32_t rank) {
    uint32_t there;
    TRY(relay_rank(call, 0, &there));
    if (there != rank + 2)
        FAIL(INVALID, "an image of %u dimensions; %u are wanted", there, rank + 2);
    return NULL;
}

/* Runs a window operator on images with channels second, whatever their layout. */
static Error *run_window(RelayOperatorCall *call, const char *name, Attributes *attributes,
    uint32_t rank, bool last, IrVariable *weights) {
    IrVariable *image = call->inputs[0], *result;
    if (last) TRY(move_channels(call, image, rank, false, &image));
    TRY(ir_build_simple(call->at, name, attributes, image, weights, NULL, &result));
    if (last) TRY(move_channels(call, result, rank, true, &result));
    relay_give(call, result);
    return NULL;
}

/* Weights as [out, in, window…]. kernel_layout: OI…, or …IO as beside channels-last images. */
static Error *turn_weights(
    RelayOperatorCall *call, uint32_t rank, IrVariable **out_weights, uint32_t *out_channels_axis) {
    static const char *const first[] = {"OIW", "OIHW", "OIDHW"};
    static const char *const last[] = {"WIO", "HWIO", "DHWIO"};
    const char *layout;
    int64_t perm[WINDOW_RANK_MAX + 2];
    TRY(relay_get_text(call, "kernel_layout", first[rank - 1], &layout));
    *out_weights = call->inputs[1];
    *out_channels_axis = 0;
    if (layout[0] == '\0' || strcmp(layout, first[rank - 1]) == 0) return NULL;
    if (strcmp(layout, last[rank - 1]) != 0)
        FAIL(UNSUPPORTED, "kernel_layout %.20s; %s and %s are read", layout, first[rank - 1],
            last[rank - 1]);
    perm[0] = rank + 1;
    perm[1] = rank;
    for (uint32_t i = 0; i < rank; i++) perm[i + 2] = i;
    *out_channels_axis = rank + 1;
    return ir_build_transpose(call->at, call->inputs[1], rank + 2, perm, out_weights);
}

Error *relay_build_conv(RelayOperatorCall *call) {
    OWN(Attributes, attributes) = NULL;
    const uint32_t rank = (uint32_t)(call->row->target[0] - '0');
    uint32_t weight_rank, axis;
    int64_t groups;
    bool last;
    IrVariable *weights;
    TRY(check_image(call, rank));
    TRY(relay_rank(call, 1, &weight_rank));
    if (weight_rank != rank + 2)
        FAIL(INVALID, "weights of %u dimensions; %u are wanted", weight_rank, rank + 2);
    TRY(relay_same_dtype(call));
    TRY(get_layout(call, "data_layout", rank, &last));
    TRY(check_out_layout(call, rank, last));
    TRY(turn_weights(call, rank, &weights, &axis));
    TRY(check_units(call, "channels", call->types[1]->dims[axis]));
    TRY(relay_get_int(call, "groups", 1, &groups));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "group", groups));
    TRY(set_window(call, "strides", rank, attributes, "strides"));
    TRY(set_window(call, "dilation", rank, attributes, "dilations"));
    TRY(set_window(call, "kernel_size", rank, attributes, "kernel_shape"));
    TRY(set_padding(call, rank, attributes));
    return run_window(call, "Conv", attributes, rank, last, weights);
}

Error *relay_build_pool(RelayOperatorCall *call) {
    enum { RANK = 2 };
    OWN(Attributes, attributes) = NULL;
    const bool average = strcmp(call->row->target, "AveragePool") == 0;
    bool last, ceil_mode, with_pad;
    TRY(check_image(call, RANK));
    TRY(get_layout(call, "layout", RANK, &last));
    TRY(check_out_layout(call, RANK, last));
    if (!relay_attribute(call, "pool_size")) FAIL(INVALID, "the attribute pool_size is wanted");
    TRY(relay_get_bool(call, "ceil_mode", false, &ceil_mode));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "ceil_mode", ceil_mode));
    TRY(set_window(call, "pool_size", RANK, attributes, "kernel_shape"));
    TRY(set_window(call, "strides", RANK, attributes, "strides"));
    TRY(set_window(call, "dilation", RANK, attributes, "dilations"));
    TRY(set_padding(call, RANK, attributes));
    if (average) {
        TRY(relay_get_bool(call, "count_include_pad", false, &with_pad));
        TRY(attributes_set_int(attributes, "count_include_pad", with_pad));
    }
    return run_window(call, call->row->target, attributes, RANK, last, NULL);
}

Error *relay_build_global_pool(RelayOperatorCall *call) {
    enum { RANK = 2 };
    bool last;
    TRY(check_image(call, RANK));
    TRY(get_layout(call, "layout", RANK, &last));
    TRY(check_out_layout(call, RANK, last));
    return run_window(call, call->row->target, NULL, RANK, last, NULL);
}

/* ---- normalisations ---- */

Error *relay_build_softmax(RelayOperatorCall *call) {
    OWN(Attributes, attributes) = NULL;
    int64_t axis;
    IrVariable *result;
    TRY(relay_get_int(call, "axis", -1, &axis));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    TRY(ir_build_simple(
        call->at, call->row->target, attributes, call->inputs[0], NULL, NULL, &result));
    relay_give(call, result);
    return NULL;
}

/* Without scale or center the vector of ones or zeros takes its place. */
static Error *settle_vector(
    RelayOperatorCall *call, const char *name, double value, IrVariable **inout_vector) {
    bool used;
    IrVariable *number, *none, *yes, *equal;
    TRY(relay_get_bool(call, name, true, &used));
    if (used) return NULL;
    TRY(constants_number(ir_cursor_module(call->at), call->types[0]->dtype, value, &number));
    TRY(constants_number(ir_cursor_module(call->at), DTYPE_BOOL, 1, &yes));
    TRY(ir_build_simple(call->at, "Equal", NULL, *inout_vector, *inout_vector, NULL, &equal));
    TRY(ir_build_simple(call->at, "Or", NULL, equal, yes, NULL, &none));
    return ir_build_simple(call->at, "Where", NULL, none, number, number, inout_vector);
}

/* Moves an axis to another place. */
static Error *move_axis(RelayOperatorCall *call, IrVariable *input, uint32_t rank, uint32_t from,
    uint32_t to, IrVariable **out) {
    int64_t perm[SHAPE_RANK_MAX];
    uint32_t next = 0;
    *out = input;
    if (from == to) return NULL;
    for (uint32_t i = 0; i < rank; i++) {
        if (next == from) next++;
        perm[i] = i == to ? from : next++;
    }
    return ir_build_transpose(call->at, input, rank, perm, out);
}

/* Results: the normalised data and the two moments, which inference does not change. */
Error *relay_build_batch_norm(RelayOperatorCall *call) {
    OWN(Attributes, attributes) = NULL;
    IrVariable *inputs[5], **results, *result;
    uint32_t rank, axis;
    double epsilon;
    DType dtype;
    TRY(relay_rank(call, 0, &rank));
    TRY(relay_dtype(call, 0, &dtype));
    TRY(relay_get_axis(call, "axis", rank, 1, &axis));
    TRY(relay_get_float(call, "epsilon", 1e-5, &epsilon));
    memcpy(inputs, call->inputs, sizeof inputs);
    if (rank < 2) FAIL(UNSUPPORTED, "data of %u dimensions; at least 2 are wanted", rank);
    TRY(settle_vector(call, "scale", 1, &inputs[1]));
    TRY(settle_vector(call, "center", 0, &inputs[2]));
    TRY(move_axis(call, inputs[0], rank, axis, 1, &inputs[0]));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(attributes, "epsilon", epsilon));
    TRY(ir_build_operator(call->at, "BatchNormalization", attributes, 5, inputs, 1, &results));
    TRY(move_axis(call, results[0], rank, 1, axis, &result));
    call->is_tuple = true;
    call->result_count = 3;
    call->results[0] = result;
    call->results[1] = call->inputs[3];
    call->results[2] = call->inputs[4];
    return NULL;
}

Error *relay_build_layer_norm(RelayOperatorCall *call) {
    OWN(Attributes, attributes) = NULL;
    IrVariable *data = call->inputs[0], *scale = call->inputs[1], *bias = call->inputs[2], *result;
    uint32_t rank, axis;
    double epsilon;
    DType dtype;
    TRY(relay_rank(call, 0, &rank));
    TRY(relay_dtype(call, 0, &dtype));
    TRY(relay_get_axis(call, "axis", rank, -1, &axis));
    TRY(relay_get_float(call, "epsilon", 1e-5, &epsilon));
    TRY(settle_vector(call, "scale", 1, &scale));
    TRY(settle_vector(call, "center", 0, &bias));
    TRY(move_axis(call, data, rank, axis, rank - 1, &data));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(attributes, "epsilon", epsilon));
    TRY(ir_build_simple(call->at, "LayerNormalization", attributes, data, scale, bias, &result));
    TRY(move_axis(call, result, rank, rank - 1, axis, &result));
    relay_give(call, result);
    return NULL;
}

/* Inference drops nothing: the data, and a mask of ones. */
Error *relay_build_dropout(RelayOperatorCall *call) {
    IrVariable *equal, *yes, *all, *mask, *input = call->inputs[0];
    DType dtype;
    TRY(relay_dtype(call, 0, &dtype));
    TRY(constants_number(ir_cursor_module(call->at), DTYPE_BOOL, 1, &yes));
    TRY(ir_build_simple(call->at, "Equal", NULL, input, input, NULL, &equal));
    TRY(ir_build_simple(call->at, "Or", NULL, equal, yes, NULL, &all));
    TRY(ir_build_cast(call->at, all, dtype, &mask));
    call->is_tuple = true;
    call->result_count = 2;
    call->results[0] = input;
    call->results[1] = mask;
    return NULL;
}

Error *relay_build_batch_flatten(RelayOperatorCall *call) {
    IrVariable *result;
    TRY(ir_build_simple(call->at, "Flatten", NULL, call->inputs[0], NULL, NULL, &result));
    relay_give(call, result);
    return NULL;
}

Error *relay_build_pad(RelayOperatorCall *call) {
    OWN(Attributes, attributes) = NULL;
    const RelayValue *width = relay_attribute(call, "pad_width");
    int64_t pads[2 * SHAPE_RANK_MAX];
    uint32_t rank;
    const char *mode;
    IrVariable *list, *value = call->count > 1 ? call->inputs[1] : NULL, *result;
    TRY(relay_rank(call, 0, &rank));
    TRY(relay_get_text(call, "pad_mode", "constant", &mode));
    if (!width || width->kind != RELAY_VALUE_LIST || width->count != rank)
        FAIL(INVALID, "the attribute pad_width has to be a list of %u pairs", rank);
    for (uint32_t i = 0; i < rank; i++) {
        const RelayValue *pair = &width->items[i];
        if (pair->kind != RELAY_VALUE_LIST || pair->count != 2 ||
            pair->items[0].kind != RELAY_VALUE_INT || pair->items[1].kind != RELAY_VALUE_INT)
            FAIL(INVALID, "the attribute pad_width has to be a list of %u pairs", rank);
        pads[i] = pair->items[0].integer;
        pads[rank + i] = pair->items[1].integer;
    }
    TRY(constants_ints(ir_cursor_module(call->at), 1, 2 * rank, pads, &list));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_text(attributes, "mode", mode));
    TRY(ir_build_simple(call->at, "Pad", attributes, call->inputs[0], list, value, &result));
    relay_give(call, result);
    return NULL;
}
