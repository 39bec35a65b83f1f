#include <inttypes.h>
#include <string.h>

#include "kernels/arguments/quantization.h"
#include "kernels/operator/operator_lower.h"
#include "kernels/shape_rules/shape_rules_internal.h"

typedef struct RecurrentShape {
    int64_t length, batch, input, directions, hidden;
    bool batch_first;
    bool in_bytes; /* W and R are [directions, depth, gates * H] */
} RecurrentShape;

static Error *read_shape(const PlanRequest *request, RecurrentShape *out) {
    const Attributes *attributes = request->attributes;
    for (uint32_t i = 0; i < 3; i++) TRY(rule_check_rank(request, i, 3));
    const Shape *x = rule_shape(request, 0), *recurrent = rule_shape(request, 2);
    RecurrentShape shape = {
        .batch_first = attributes_int(attributes, "layout") != 0,
        .in_bytes = request->operator_info->id == OPERATOR_DYNAMIC_QUANTIZE_LSTM,
    };
    shape.length = x->dims[shape.batch_first ? 1 : 0];
    shape.batch = x->dims[shape.batch_first ? 0 : 1];
    shape.input = x->dims[2];
    shape.hidden = recurrent->dims[shape.in_bytes ? 1 : 2];
    const char *direction = attributes_text(attributes, "direction");
    bool both = strcmp(direction, "bidirectional") == 0;
    if (!both && strcmp(direction, "forward") != 0 && strcmp(direction, "reverse") != 0)
        FAIL(INVALID, "direction \"%.40s\"", direction);
    shape.directions = both ? 2 : 1;
    if (attributes_has(attributes, "hidden_size") &&
        attributes_int(attributes, "hidden_size") != shape.hidden)
        FAIL(INVALID, "hidden_size is not that of R");
    if (shape.hidden < 1 || shape.hidden > INT32_MAX)
        FAIL(INVALID, "a hidden size of %" PRId64, shape.hidden);
    *out = shape;
    return NULL;
}

/* Checks that X, W and R are of one type, or W and R of the narrower one. */
static Error *check_weights(const PlanRequest *request) {
    const OperatorLower *lower = operator_lower_get(request->operator_info->id);
    TRY(rule_check_dtype(request, 0, lower ? DTYPE_BIT(DTYPE_FLOAT32) : DTYPES_FLOAT));
    for (uint32_t i = 1; i < 3; i++)
        TRY(lower ? rule_check_dtype(request, i, DTYPE_BIT(lower->weights))
                  : rule_check_same_dtype(request, i, 0));
    return NULL;
}

static Error *check_bytes(const PlanRequest *request) {
    TRY(rule_check_dtype(request, 0, DTYPE_BIT(DTYPE_FLOAT32)));
    for (uint32_t i = 1; i < 3; i++) {
        TRY(rule_check_dtype(request, i, DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8)));
        TRY(rule_check_dtype(request, 6 + 2 * i, DTYPE_BIT(DTYPE_FLOAT32)));
        TRY(rule_check_same_dtype(request, 7 + 2 * i, i));
    }
    return NULL;
}

/* Scales and zero points of W, and those of R. */
static Error *check_scales(const PlanRequest *request) {
    Shape lines;
    for (uint32_t i = 8; i < 12; i++) {
        if (i % 2 == 0 && !rule_has(request, i)) FAIL(INVALID, "input %u is missing", i);
        TRY(quantization_of_matrix(request, i, i < 10 ? 1 : 2, false, &lines));
    }
    return NULL;
}

/* Inputs X, W, R, B, lengths, initial states, peepholes. */
static Error *check_inputs(const PlanRequest *request, const RecurrentShape *shape, int64_t gates) {
    int64_t directions = shape->directions, hidden = shape->hidden;
    const int64_t columns = gates * hidden, input = shape->input;
    const int64_t weights[] = {
        directions, shape->in_bytes ? input : columns, shape->in_bytes ? columns : input};
    const int64_t recurrent[] = {
        directions, shape->in_bytes ? hidden : columns, shape->in_bytes ? columns : hidden};
    const int64_t bias[] = {directions, 2 * gates * hidden}, peepholes[] = {directions, 3 * hidden};
    const int64_t state[] = {shape->batch_first ? shape->batch : directions,
        shape->batch_first ? directions : shape->batch, hidden};
    for (uint32_t i = 3; i < request->input_count && i < 8; i++)
        if (i != 4) TRY(rule_check_same_dtype(request, i, 0));
    TRY(rule_check_dtype(request, 4, DTYPE_BIT(DTYPE_INT32)));
    TRY(rule_check_shape(request, 1, 3, weights));
    TRY(rule_check_shape(request, 2, 3, recurrent));
    TRY(rule_check_shape(request, 3, 2, bias));
    TRY(rule_check_shape(request, 4, 1, &shape->batch));
    TRY(rule_check_shape(request, 5, 3, state));
    TRY(rule_check_shape(request, 6, 3, state));
    return rule_check_shape(request, 7, 2, peepholes);
}

/* gates: the number of products of an input and of a state. */
static Error *recurrent(PlanRequest *request, int64_t gates) {
    RecurrentShape shape;
    const bool in_bytes = request->operator_info->id == OPERATOR_DYNAMIC_QUANTIZE_LSTM;
    TRY(in_bytes ? check_bytes(request) : check_weights(request));
    TRY(read_shape(request, &shape));
    TRY(check_inputs(request, &shape, gates));
    if (in_bytes) TRY(check_scales(request));
    int64_t directions = shape.directions;
    Shape all = {.rank = 4, .dims = {shape.length, directions, shape.batch, shape.hidden}};
    Shape last = {.rank = 3, .dims = {directions, shape.batch, shape.hidden}};
    if (shape.batch_first) {
        all = (Shape){.rank = 4, .dims = {shape.batch, shape.length, directions, shape.hidden}};
        last = (Shape){.rank = 3, .dims = {shape.batch, directions, shape.hidden}};
    }
    rule_set(request, 0, rule_dtype(request, 0), &all);
    rule_set(request, 1, rule_dtype(request, 0), &last);
    rule_set(request, 2, rule_dtype(request, 0), &last);
    return NULL;
}

Error *shape_rule_lstm(PlanRequest *request) { return recurrent(request, 4); }
Error *shape_rule_dynamic_quantize_lstm(PlanRequest *request) { return recurrent(request, 4); }
Error *shape_rule_gru(PlanRequest *request) { return recurrent(request, 3); }
Error *shape_rule_rnn(PlanRequest *request) { return recurrent(request, 1); }
