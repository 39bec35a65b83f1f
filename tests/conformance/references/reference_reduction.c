#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

/* The output element that an input element goes into: reduced dimensions as 0 or left out. */
static int64_t target(
    const Shape *input, const Shape *output, const bool *reduced, const int64_t *index) {
    int64_t own[SHAPE_RANK_MAX] = {0};
    bool kept = output->rank == input->rank;
    uint32_t at = 0;
    for (uint32_t d = 0; d < input->rank; d++) {
        if (!reduced[d])
            own[at++] = index[d];
        else if (kept)
            own[at++] = 0;
    }
    return reference_flat(output, own);
}

static double start_of(OperatorId id) {
    if (id == OPERATOR_REDUCE_PROD) return 1;
    if (id == OPERATOR_REDUCE_MAX) return -INFINITY;
    if (id == OPERATOR_REDUCE_MIN) return INFINITY;
    return 0;
}

static double step(OperatorId id, double sum, double x) {
    if (id == OPERATOR_REDUCE_PROD) return sum * x;
    if (id == OPERATOR_REDUCE_MAX) return fmax(sum, x);
    if (id == OPERATOR_REDUCE_MIN) return fmin(sum, x);
    if (id == OPERATOR_REDUCE_L2 || id == OPERATOR_REDUCE_SUM_SQUARE) return sum + x * x;
    if (id == OPERATOR_REDUCE_L1) return sum + fabs(x);
    if (id == OPERATOR_REDUCE_LOG_SUM_EXP) return sum + exp(x);
    return sum + x;
}

void reference_reduce(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    const ReferenceTensor *input = &call->inputs[0], *axes = &call->inputs[1];
    OperatorId id = call->operator_info->id;
    bool reduced[SHAPE_RANK_MAX] = {false};
    bool none = !axes->present || axes->count == 0;
    for (uint32_t d = 0; d < SHAPE_RANK_MAX; d++)
        reduced[d] = none && !attributes_int(call->attributes, "noop_with_empty_axes");
    for (int64_t i = 0; !none && i < axes->count; i++)
        reduced[reference_axis((int64_t)axes->values[i], input->shape.rank)] = true;
    for (int64_t i = 0; i < out->count; i++) out->values[i] = start_of(id);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < input->count; i++, (void)reference_next(&input->shape, index)) {
        double *at = &out->values[target(&input->shape, &out->shape, reduced, index)];
        *at = step(id, *at, input->values[i]);
    }
    double each = out->count ? (double)input->count / (double)out->count : 1;
    for (int64_t i = 0; i < out->count; i++) {
        if (id == OPERATOR_REDUCE_MEAN) out->values[i] /= each;
        if (id == OPERATOR_REDUCE_L2) out->values[i] = sqrt(out->values[i]);
        if (id == OPERATOR_REDUCE_LOG_SUM || id == OPERATOR_REDUCE_LOG_SUM_EXP)
            out->values[i] = log(out->values[i]);
    }
}

/* Walks lines along an axis: *out_stride elements apart, `line` numbered by what is around it. */
static int64_t line_start(const Shape *shape, uint32_t axis, int64_t line, int64_t *out_stride) {
    int64_t inner = shape_product(shape, axis + 1, shape->rank);
    *out_stride = inner;
    return line / inner * inner * shape->dims[axis] + line % inner;
}

static int64_t line_count(const Shape *shape, uint32_t axis) {
    return shape_product(shape, 0, axis) * shape_product(shape, axis + 1, shape->rank);
}

void reference_arg_reduce(ReferenceCall *call) {
    const ReferenceTensor *input = &call->inputs[0];
    uint32_t axis = reference_axis(attributes_int(call->attributes, "axis"), input->shape.rank);
    bool last = attributes_int(call->attributes, "select_last_index") != 0;
    double sign = call->operator_info->id == OPERATOR_ARG_MAX ? 1 : -1;
    for (int64_t line = 0; line < line_count(&input->shape, axis); line++) {
        int64_t stride, best = 0, from = line_start(&input->shape, axis, line, &stride);
        for (int64_t i = 1; i < input->shape.dims[axis]; i++) {
            const double x = sign * input->values[from + i * stride];
            const double y = sign * input->values[from + best * stride];
            const bool beyond = isnan(x) ? !isnan(y) : x > y;
            if (beyond || (last && (x == y || (isnan(x) && isnan(y))))) best = i;
        }
        call->outputs[0].values[line] = (double)best;
    }
}

void reference_top_k(ReferenceCall *call) {
    const ReferenceTensor *input = &call->inputs[0];
    uint32_t axis = reference_axis(attributes_int(call->attributes, "axis"), input->shape.rank);
    int64_t dim = input->shape.dims[axis], k = call->outputs[0].shape.dims[axis];
    double sign = attributes_int(call->attributes, "largest") ? 1 : -1;
    for (int64_t line = 0; line < line_count(&input->shape, axis); line++) {
        int64_t stride, from = line_start(&input->shape, axis, line, &stride);
        bool *taken = calloc((size_t)dim + 1, sizeof *taken);
        for (int64_t rank = 0; taken && rank < k; rank++) {
            int64_t best = -1;
            for (int64_t i = 0; i < dim; i++) {
                if (taken[i]) continue;
                if (best < 0 || sign * (input->values[from + i * stride] -
                                           input->values[from + best * stride]) >
                                    0)
                    best = i;
            }
            taken[best] = true;
            int64_t to = line_start(&call->outputs[0].shape, axis, line, &stride) + rank * stride;
            call->outputs[0].values[to] = input->values[from + best * stride];
            call->outputs[1].values[to] = (double)best;
        }
        free(taken);
    }
}

void reference_cum_sum(ReferenceCall *call) {
    const ReferenceTensor *input = &call->inputs[0];
    uint32_t axis = reference_axis((int64_t)call->inputs[1].values[0], input->shape.rank);
    int64_t dim = input->shape.dims[axis];
    bool reverse = attributes_int(call->attributes, "reverse") != 0;
    bool exclusive = attributes_int(call->attributes, "exclusive") != 0;
    bool product = call->operator_info->id == OPERATOR_CUM_PROD;
    for (int64_t line = 0; line < line_count(&input->shape, axis); line++) {
        int64_t stride, from = line_start(&input->shape, axis, line, &stride);
        double sum = product ? 1 : 0;
        for (int64_t i = 0; i < dim; i++) {
            int64_t at = from + (reverse ? dim - 1 - i : i) * stride;
            double before = sum;
            sum = product ? sum * input->values[at] : sum + input->values[at];
            call->outputs[0].values[at] = exclusive ? before : sum;
        }
    }
}

void reference_softmax(ReferenceCall *call) {
    const ReferenceTensor *input = &call->inputs[0];
    uint32_t axis = reference_axis(attributes_int(call->attributes, "axis"), input->shape.rank);
    bool logarithm = call->operator_info->id == OPERATOR_LOG_SOFTMAX;
    for (int64_t line = 0; line < line_count(&input->shape, axis); line++) {
        int64_t stride, from = line_start(&input->shape, axis, line, &stride);
        double high = -INFINITY, sum = 0;
        for (int64_t i = 0; i < input->shape.dims[axis]; i++)
            high = fmax(high, input->values[from + i * stride]);
        for (int64_t i = 0; i < input->shape.dims[axis]; i++)
            sum += exp(input->values[from + i * stride] - high);
        for (int64_t i = 0; i < input->shape.dims[axis]; i++) {
            double x = input->values[from + i * stride] - high;
            call->outputs[0].values[from + i * stride] = logarithm ? x - log(sum) : exp(x) / sum;
        }
    }
}
