/* Operators over images [N, spatial…, C]: the rules of those over [N, C, spatial…]. */
#include <inttypes.h>
#include <string.h>

#include "kernels/arguments/channels_first.h"
#include "kernels/shape_rules/shape_rules_internal.h"

static Error *infer_as(PlanRequest *request, OperatorId id, uint32_t input_count) {
    ChannelsFirst first;
    if (rule_shape(request, 0)->rank < 3)
        FAIL(INVALID, "an image of rank %u", rule_shape(request, 0)->rank);
    channels_first_of(request, &first);
    first.request.operator_info = operator_get(id);
    if (first.request.input_count > input_count) first.request.input_count = input_count;
    TRY(operator_get(id)->infer(&first.request));
    channels_last_shape(&first.request.outputs[0].shape, &first.request.outputs[0].shape);
    rule_set(request, 0, first.request.outputs[0].dtype, &first.request.outputs[0].shape);
    return NULL;
}

/* The plain operator of a FusedPool; OPERATOR_NONE for other names. */
static OperatorId pool_of(const char *name) {
    static const OperatorId pools[] = {OPERATOR_MAX_POOL, OPERATOR_AVERAGE_POOL,
        OPERATOR_GLOBAL_MAX_POOL, OPERATOR_GLOBAL_AVERAGE_POOL};
    for (uint32_t i = 0; i < sizeof pools / sizeof pools[0]; i++)
        if (strcmp(operator_get(pools[i])->name, name) == 0) return pools[i];
    return OPERATOR_NONE;
}

Error *channels_last_pool(const PlanRequest *request, OperatorId *out) {
    const char *name = attributes_text(request->attributes, "operator");
    OperatorId id = pool_of(name);
    if (id == OPERATOR_NONE) FAIL(INVALID, "operator \"%.40s\" is no pool", name);
    if ((id == OPERATOR_MAX_POOL || id == OPERATOR_AVERAGE_POOL) &&
        !attributes_has(request->attributes, "kernel_shape"))
        FAIL(INVALID, "%s needs kernel_shape", name);
    *out = id;
    return NULL;
}

Error *shape_rule_fused_pool(PlanRequest *request) {
    OperatorId id;
    TRY(channels_last_pool(request, &id));
    const DTypeSet bytes = DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8);
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT | (id == OPERATOR_MAX_POOL ? bytes : 0)));
    return infer_as(request, id, 1);
}

Error *shape_rule_fused_qlinear_conv(PlanRequest *request) {
    if (!channels_last_is(request)) return shape_rule_qlinear_conv(request);
    return infer_as(request, OPERATOR_QLINEAR_CONV, request->input_count);
}

Error *shape_rule_fused_lrn(PlanRequest *request) { return infer_as(request, OPERATOR_LRN, 1); }

/* Convolutions at lower precision: weights of one type. The bias, and the scales before it, have
 * one element for each filter. */
static Error *lower_conv(PlanRequest *request, DType weights, uint32_t bias) {
    ChannelsFirst first;
    TRY(rule_check_dtype(request, 0, DTYPE_BIT(DTYPE_FLOAT32)));
    TRY(rule_check_dtype(request, 1, DTYPE_BIT(weights)));
    TRY(rule_check_rank(request, 0, 4));
    if (attributes_int(request->attributes, "group") != 1)
        FAIL(INVALID, "group %" PRId64, attributes_int(request->attributes, "group"));
    channels_first_of(request, &first);
    first.request.operator_info = operator_get(OPERATOR_CONV);
    first.request.input_count = 2;
    first.inputs[1].dtype = DTYPE_FLOAT32;
    TRY(shape_rule_conv(&first.request));
    Shape shape;
    channels_last_shape(&first.request.outputs[0].shape, &shape);
    return rule_set_lower(request, bias, &shape);
}

Error *shape_rule_fused_conv_bfloat16(PlanRequest *request) {
    return lower_conv(request, DTYPE_BFLOAT16, 2);
}

Error *shape_rule_fused_conv_int8(PlanRequest *request) {
    TRY(lower_conv(request, DTYPE_INT8, 3));
    const Shape *weights = rule_shape(request, 1);
    int64_t depth = weights->dims[1];
    for (uint32_t i = 2; i < weights->rank; i++)
        if (__builtin_mul_overflow(depth, weights->dims[i], &depth)) depth = INT64_MAX;
    if (depth > SHAPE_RULE_INT8_DEPTH_MAX)
        FAIL(INVALID, "filters of %" PRId64 " weights, more than %d", depth,
            SHAPE_RULE_INT8_DEPTH_MAX);
    return NULL;
}
