#include <math.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

/* The elements of a tensor that belong together: those with the same number. */
typedef int64_t GroupOf(const ReferenceCall *call, const int64_t *index);

typedef struct Statistics {
    double sum, squares, count;
} Statistics;

enum { GROUPS_MAX = 64 };

static void gather(const ReferenceCall *call, GroupOf *group_of, Statistics *groups) {
    const ReferenceTensor *input = &call->inputs[0];
    int64_t index[SHAPE_RANK_MAX] = {0};
    memset(groups, 0, GROUPS_MAX * sizeof *groups);
    for (int64_t i = 0; i < input->count; i++, (void)reference_next(&input->shape, index)) {
        Statistics *group = &groups[group_of(call, index)];
        group->sum += input->values[i];
        group->squares += input->values[i] * input->values[i];
        group->count++;
    }
}

static double mean_of(const Statistics *group) { return group->sum / group->count; }
static double variance_of(const Statistics *group) {
    return group->squares / group->count - mean_of(group) * mean_of(group);
}

static int64_t channel_group(const ReferenceCall *call, const int64_t *index) {
    const int64_t groups = attributes_int(call->attributes, "num_groups");
    return index[0] * groups + index[1] / (call->inputs[0].shape.dims[1] / groups);
}

void reference_group_normalization(ReferenceCall *call) {
    const ReferenceTensor *input = &call->inputs[0];
    const double epsilon = attributes_float(call->attributes, "epsilon");
    Statistics groups[GROUPS_MAX];
    gather(call, channel_group, groups);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < input->count; i++, (void)reference_next(&input->shape, index)) {
        const Statistics *group = &groups[channel_group(call, index)];
        const double unit =
            (input->values[i] - mean_of(group)) / sqrt(variance_of(group) + epsilon);
        call->outputs[0].values[i] =
            unit * call->inputs[1].values[index[1]] + call->inputs[2].values[index[1]];
    }
}

static int64_t axes_group(const ReferenceCall *call, const int64_t *index) {
    static const int64_t otherwise[] = {0, 2, 3};
    uint32_t count = 3;
    const int64_t *axes = otherwise;
    if (attributes_has(call->attributes, "axes"))
        axes = attributes_ints(call->attributes, "axes", &count);
    const Shape *shape = &call->inputs[0].shape;
    int64_t group = 0;
    for (uint32_t d = 0; d < shape->rank; d++) {
        bool reduced = false;
        for (uint32_t k = 0; k < count; k++)
            reduced = reduced || reference_axis(axes[k], shape->rank) == d;
        if (!reduced) group = group * shape->dims[d] + index[d];
    }
    return group;
}

void reference_mean_variance(ReferenceCall *call) {
    const ReferenceTensor *input = &call->inputs[0];
    Statistics groups[GROUPS_MAX];
    gather(call, axes_group, groups);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < input->count; i++, (void)reference_next(&input->shape, index)) {
        const Statistics *group = &groups[axes_group(call, index)];
        call->outputs[0].values[i] =
            (input->values[i] - mean_of(group)) / (sqrt(variance_of(group)) + 1e-9);
    }
}

static int64_t channel(const ReferenceCall *call, const int64_t *index) {
    (void)call;
    return index[1];
}

void reference_batch_training(ReferenceCall *call) {
    const ReferenceTensor *input = &call->inputs[0];
    const double epsilon = attributes_float(call->attributes, "epsilon");
    const double momentum = attributes_float(call->attributes, "momentum");
    Statistics groups[GROUPS_MAX];
    gather(call, channel, groups);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < input->count; i++, (void)reference_next(&input->shape, index)) {
        const Statistics *group = &groups[index[1]];
        const double unit =
            (input->values[i] - mean_of(group)) / sqrt(variance_of(group) + epsilon);
        call->outputs[0].values[i] =
            unit * call->inputs[1].values[index[1]] + call->inputs[2].values[index[1]];
    }
    for (int64_t c = 0; c < input->shape.dims[1]; c++) {
        if (call->output_count > 1)
            call->outputs[1].values[c] =
                call->inputs[3].values[c] * momentum + mean_of(&groups[c]) * (1 - momentum);
        if (call->output_count > 2)
            call->outputs[2].values[c] =
                call->inputs[4].values[c] * momentum + variance_of(&groups[c]) * (1 - momentum);
    }
}

/* Where the lane along the attribute's axis that an element is in begins; *out_step between its
 * elements. */
static int64_t lane_start(
    const ReferenceCall *call, int64_t at, int64_t *out_step, int64_t *out_count) {
    const Shape *shape = &call->inputs[0].shape;
    const uint32_t axis = reference_axis(attributes_int(call->attributes, "axis"), shape->rank);
    *out_step = shape_product(shape, axis + 1, shape->rank);
    *out_count = shape->dims[axis];
    return at - at / *out_step % *out_count * *out_step;
}

void reference_lp_normalization(ReferenceCall *call) {
    const double *x = call->inputs[0].values;
    const bool squares = attributes_int(call->attributes, "p") == 2;
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        int64_t step, count, start = lane_start(call, i, &step, &count);
        double norm = 0;
        for (int64_t k = 0; k < count; k++)
            norm += squares ? x[start + k * step] * x[start + k * step] : fabs(x[start + k * step]);
        if (squares) norm = sqrt(norm);
        call->outputs[0].values[i] = norm == 0 ? 0 : x[i] / norm;
    }
}

void reference_hardmax(ReferenceCall *call) {
    const double *x = call->inputs[0].values;
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        int64_t step, count, start = lane_start(call, i, &step, &count), best = start;
        for (int64_t k = 0; k < count; k++)
            if (x[start + k * step] > x[best]) best = start + k * step;
        call->outputs[0].values[i] = best == i;
    }
}
