#include <math.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

static int64_t wrap(double index, int64_t dim) {
    return index < 0 ? (int64_t)index + dim : (int64_t)index;
}

void reference_gather(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    const ReferenceTensor *data = &call->inputs[0], *indices = &call->inputs[1];
    uint32_t axis = reference_axis(attributes_int(call->attributes, "axis"), data->shape.rank);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        int64_t own[SHAPE_RANK_MAX] = {0};
        for (uint32_t d = 0; d < axis; d++) own[d] = index[d];
        int64_t at = reference_flat(&indices->shape, index + axis);
        own[axis] = wrap(indices->values[at], data->shape.dims[axis]);
        for (uint32_t d = axis + 1; d < data->shape.rank; d++)
            own[d] = index[d + indices->shape.rank - 1];
        out->values[i] = data->values[reference_flat(&data->shape, own)];
    }
}

void reference_gather_elements(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    const ReferenceTensor *data = &call->inputs[0];
    uint32_t axis = reference_axis(attributes_int(call->attributes, "axis"), data->shape.rank);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        int64_t own[SHAPE_RANK_MAX];
        memcpy(own, index, sizeof own);
        own[axis] = wrap(call->inputs[1].values[i], data->shape.dims[axis]);
        out->values[i] = data->values[reference_flat(&data->shape, own)];
    }
}

/* Where in `data` tuple number `tuple` points; the dimensions behind it are 0. */
static int64_t tuple_offset(const ReferenceTensor *data, const ReferenceTensor *indices,
    int64_t tuple, uint32_t first, int64_t *own) {
    int64_t depth = indices->shape.dims[indices->shape.rank - 1];
    for (int64_t d = 0; d < depth; d++)
        own[first + d] =
            wrap(indices->values[tuple * depth + d], data->shape.dims[first + (uint32_t)d]);
    return reference_flat(&data->shape, own);
}

static int64_t slice_count(
    const ReferenceTensor *data, const ReferenceTensor *indices, uint32_t batch) {
    uint32_t from = batch + (uint32_t)indices->shape.dims[indices->shape.rank - 1];
    return shape_product(&data->shape, from, data->shape.rank);
}

void reference_gather_nd(ReferenceCall *call) {
    const ReferenceTensor *data = &call->inputs[0], *indices = &call->inputs[1];
    uint32_t batch = (uint32_t)attributes_int(call->attributes, "batch_dims");
    int64_t slice = slice_count(data, indices, batch);
    int64_t tuples = call->outputs[0].count / (slice ? slice : 1);
    Shape outer = shape_make(indices->shape.rank - 1, indices->shape.dims);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t t = 0; t < tuples; t++, (void)reference_next(&outer, index)) {
        int64_t own[SHAPE_RANK_MAX] = {0};
        for (uint32_t d = 0; d < batch; d++) own[d] = index[d];
        int64_t from = tuple_offset(data, indices, t, batch, own);
        memcpy(call->outputs[0].values + t * slice, data->values + from,
            (size_t)slice * sizeof(double));
    }
}

static double combine(const ReferenceCall *call, double old, double update) {
    const char *reduction = attributes_text(call->attributes, "reduction");
    if (strcmp(reduction, "add") == 0) return old + update;
    if (strcmp(reduction, "mul") == 0) return old * update;
    if (strcmp(reduction, "max") == 0) return fmax(old, update);
    if (strcmp(reduction, "min") == 0) return fmin(old, update);
    return update;
}

static void copy_data(ReferenceCall *call) {
    memcpy(call->outputs[0].values, call->inputs[0].values,
        (size_t)call->outputs[0].count * sizeof(double));
}

void reference_scatter_elements(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    const ReferenceTensor *indices = &call->inputs[1];
    uint32_t axis = reference_axis(attributes_int(call->attributes, "axis"), out->shape.rank);
    copy_data(call);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < indices->count; i++, (void)reference_next(&indices->shape, index)) {
        int64_t own[SHAPE_RANK_MAX];
        memcpy(own, index, sizeof own);
        own[axis] = wrap(indices->values[i], out->shape.dims[axis]);
        double *at = &out->values[reference_flat(&out->shape, own)];
        *at = combine(call, *at, call->inputs[2].values[i]);
    }
}

void reference_scatter_nd(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    const ReferenceTensor *indices = &call->inputs[1], *updates = &call->inputs[2];
    int64_t slice = slice_count(out, indices, 0);
    int64_t tuples = updates->count / (slice ? slice : 1);
    copy_data(call);
    for (int64_t t = 0; t < tuples; t++) {
        int64_t own[SHAPE_RANK_MAX] = {0};
        double *to = out->values + tuple_offset(out, indices, t, 0, own);
        for (int64_t i = 0; i < slice; i++)
            to[i] = combine(call, to[i], updates->values[t * slice + i]);
    }
}
