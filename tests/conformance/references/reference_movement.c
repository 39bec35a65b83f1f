#include <math.h>
#include <string.h>

#include "kernels/tensor/dtype_bits.h"
#include "kernels/tensor/tensor.h"
#include "tests/conformance/references/reference.h"

void reference_identity(ReferenceCall *call) {
    memcpy(call->outputs[0].values, call->inputs[0].values,
        (size_t)call->outputs[0].count * sizeof(double));
}

void reference_dropout(ReferenceCall *call) {
    reference_identity(call);
    for (int64_t i = 0; i < call->outputs[1].count; i++) call->outputs[1].values[i] = 1;
}

void reference_concat(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    uint32_t axis = reference_axis(attributes_int(call->attributes, "axis"), out->shape.rank);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        int64_t own[SHAPE_RANK_MAX];
        memcpy(own, index, sizeof own);
        uint32_t from = 0;
        while (own[axis] >= call->inputs[from].shape.dims[axis])
            own[axis] -= call->inputs[from++].shape.dims[axis];
        const ReferenceTensor *input = &call->inputs[from];
        out->values[i] = input->values[reference_flat(&input->shape, own)];
    }
}

void reference_split(ReferenceCall *call) {
    const ReferenceTensor *input = &call->inputs[0];
    uint32_t axis = reference_axis(attributes_int(call->attributes, "axis"), input->shape.rank);
    int64_t before = 0;
    for (uint32_t o = 0; o < call->output_count; o++) {
        ReferenceTensor *out = &call->outputs[o];
        int64_t index[SHAPE_RANK_MAX] = {0};
        for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
            int64_t own[SHAPE_RANK_MAX];
            memcpy(own, index, sizeof own);
            own[axis] += before;
            out->values[i] = input->values[reference_flat(&input->shape, own)];
        }
        before += out->shape.dims[axis];
    }
}

/* Start and step of each axis; the end is in the output's shape already. */
void reference_slice(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    const ReferenceTensor *input = &call->inputs[0];
    int64_t start[SHAPE_RANK_MAX] = {0}, step[SHAPE_RANK_MAX];
    for (uint32_t i = 0; i < SHAPE_RANK_MAX; i++) step[i] = 1;
    for (int64_t i = 0; i < call->inputs[1].count; i++) {
        uint32_t axis = (uint32_t)i;
        if (call->inputs[3].present)
            axis = reference_axis((int64_t)call->inputs[3].values[i], input->shape.rank);
        if (call->inputs[4].present) step[axis] = (int64_t)call->inputs[4].values[i];
        start[axis] = (int64_t)call->inputs[1].values[i];
        if (start[axis] < 0) start[axis] += input->shape.dims[axis];
        if (step[axis] < 0 && start[axis] >= input->shape.dims[axis])
            start[axis] = input->shape.dims[axis] - 1;
    }
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        int64_t own[SHAPE_RANK_MAX] = {0};
        for (uint32_t d = 0; d < input->shape.rank; d++) own[d] = start[d] + index[d] * step[d];
        out->values[i] = input->values[reference_flat(&input->shape, own)];
    }
}

void reference_transpose(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    const ReferenceTensor *input = &call->inputs[0];
    uint32_t count;
    const int64_t *perm = attributes_ints(call->attributes, "perm", &count);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        int64_t own[SHAPE_RANK_MAX] = {0};
        for (uint32_t d = 0; d < out->shape.rank; d++)
            own[perm ? perm[d] : (int64_t)(out->shape.rank - 1 - d)] = index[d];
        out->values[i] = input->values[reference_flat(&input->shape, own)];
    }
}

void reference_expand(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index))
        out->values[i] = reference_broadcast(&call->inputs[0], &out->shape, index);
}

void reference_tile(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    const ReferenceTensor *input = &call->inputs[0];
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        int64_t own[SHAPE_RANK_MAX] = {0};
        for (uint32_t d = 0; d < out->shape.rank; d++) own[d] = index[d] % input->shape.dims[d];
        out->values[i] = input->values[reference_flat(&input->shape, own)];
    }
}

/* Position in the input, or -1: outside under mode constant. */
static int64_t pad_source(const char *mode, int64_t at, int64_t dim) {
    if (at >= 0 && at < dim) return at;
    if (strcmp(mode, "edge") == 0) return at < 0 ? 0 : dim - 1;
    if (strcmp(mode, "wrap") == 0) return (at % dim + dim) % dim;
    if (strcmp(mode, "reflect") == 0) return at < 0 ? -at : 2 * (dim - 1) - at;
    return -1;
}

void reference_pad(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    const ReferenceTensor *input = &call->inputs[0], *pads = &call->inputs[1];
    const ReferenceTensor *axes = &call->inputs[3];
    const char *mode = attributes_text(call->attributes, "mode");
    int64_t begin[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < pads->count / 2; i++) {
        int64_t axis = axes->present ? (int64_t)axes->values[i] : i;
        begin[reference_axis(axis, input->shape.rank)] = (int64_t)pads->values[i];
    }
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        int64_t own[SHAPE_RANK_MAX] = {0};
        bool inside = true;
        for (uint32_t d = 0; d < out->shape.rank; d++) {
            own[d] = pad_source(mode, index[d] - begin[d], input->shape.dims[d]);
            inside = inside && own[d] >= 0;
        }
        double constant = call->inputs[2].present ? call->inputs[2].values[0] : 0;
        out->values[i] = inside ? input->values[reference_flat(&input->shape, own)] : constant;
    }
}

void reference_constant(ReferenceCall *call) {
    const Tensor *value = attributes_tensor(call->attributes, "value");
    double number = 0;
    if (value) (void)dtype_bits_read_element(value->dtype, tensor_data(value), 0, &number);
    for (int64_t i = 0; i < call->outputs[0].count; i++) call->outputs[0].values[i] = number;
}

void reference_range(ReferenceCall *call) {
    for (int64_t i = 0; i < call->outputs[0].count; i++)
        call->outputs[0].values[i] =
            call->inputs[0].values[0] + (double)i * call->inputs[2].values[0];
}

void reference_shape(ReferenceCall *call) {
    const Shape *shape = &call->inputs[0].shape;
    int64_t start = attributes_int(call->attributes, "start");
    for (int64_t i = 0; i < call->outputs[0].count; i++)
        call->outputs[0].values[i] = (double)shape->dims[start + i];
}

void reference_size(ReferenceCall *call) {
    call->outputs[0].values[0] = (double)call->inputs[0].count;
}

void reference_trilu(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    int64_t k = call->inputs[1].present ? (int64_t)call->inputs[1].values[0] : 0;
    bool upper = attributes_int(call->attributes, "upper") != 0;
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        int64_t row = index[out->shape.rank - 2], column = index[out->shape.rank - 1];
        bool kept = upper ? column >= row + k : column <= row + k;
        out->values[i] = kept ? call->inputs[0].values[i] : 0;
    }
}

void reference_one_hot(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    const ReferenceTensor *indices = &call->inputs[0];
    uint32_t axis = reference_axis(attributes_int(call->attributes, "axis"), out->shape.rank);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        int64_t own[SHAPE_RANK_MAX] = {0};
        for (uint32_t d = 0; d < indices->shape.rank; d++) own[d] = index[d < axis ? d : d + 1];
        int64_t hot = (int64_t)indices->values[reference_flat(&indices->shape, own)];
        if (hot < 0) hot += out->shape.dims[axis];
        out->values[i] = call->inputs[2].values[hot == index[axis] ? 1 : 0];
    }
}

void reference_non_zero(ReferenceCall *call) {
    const ReferenceTensor *input = &call->inputs[0];
    ReferenceTensor *out = &call->outputs[0];
    int64_t found = 0, index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < input->count; i++, (void)reference_next(&input->shape, index)) {
        if (input->values[i] == 0) continue;
        for (uint32_t d = 0; d < input->shape.rank; d++)
            out->values[(int64_t)d * out->shape.dims[1] + found] = (double)index[d];
        found++;
    }
}

void reference_split_bounds(ReferenceCall *call) {
    const ReferenceTensor *split = &call->inputs[1], *out = &call->outputs[0];
    const ReferenceTensor *shape = &call->inputs[0];
    int64_t given = attributes_int(call->attributes, "axis");
    uint32_t axis = reference_axis(given, (uint32_t)shape->count);
    double at = 0;
    for (int64_t i = 0; i + 1 < out->count; i++) {
        bool listed = split->present && split->shape.rank == 1;
        out->values[i] = at;
        at += listed ? split->values[i] : split->present ? split->values[0] : 1;
    }
    out->values[out->count - 1] = shape->values[axis];
}

/* Grams of n items, each `step` behind the last one, that stand in the pool from `first` on. */
static double count_grams(
    const double *row, int64_t size, int64_t n, int64_t step, const int64_t *gram) {
    double count = 0;
    for (int64_t start = 0; start + (n - 1) * step < size; start++) {
        bool same = true;
        for (int64_t i = 0; i < n; i++) same = same && row[start + i * step] == (double)gram[i];
        count += same;
    }
    return count;
}

void reference_tf_idf(ReferenceCall *call) {
    uint32_t lengths, pool, grams, weighted;
    const int64_t *starts = attributes_ints(call->attributes, "ngram_counts", &lengths);
    const int64_t *items = attributes_ints(call->attributes, "pool_int64s", &pool);
    const int64_t *columns = attributes_ints(call->attributes, "ngram_indexes", &grams);
    const double *weights = attributes_floats(call->attributes, "weights", &weighted);
    const ReferenceTensor *in = &call->inputs[0], *out = &call->outputs[0];
    int64_t size = in->shape.dims[in->shape.rank - 1];
    int64_t width = out->shape.dims[out->shape.rank - 1];
    for (int64_t row = 0; row * width < out->count; row++) {
        uint32_t gram = 0;
        for (int64_t i = 0; i < width; i++) out->values[row * width + i] = 0;
        for (int64_t n = 1; n <= (int64_t)lengths; n++) {
            int64_t end = n < (int64_t)lengths ? starts[n] : (int64_t)pool;
            for (int64_t at = starts[n - 1]; at < end; at += n, gram++) {
                double count = 0;
                int64_t steps = n == 1 ? 1 : attributes_int(call->attributes, "max_skip_count") + 1;
                for (int64_t step = 1; step <= steps; step++)
                    count += count_grams(in->values + row * size, size, n, step, items + at);
                if (n < attributes_int(call->attributes, "min_gram_length")) count = 0;
                out->values[row * width + columns[gram]] +=
                    weighted ? count * weights[gram] : count;
            }
        }
    }
}
