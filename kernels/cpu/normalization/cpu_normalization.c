/* LayerNormalization, RMSNormalization, InstanceNormalization, GroupNormalization: rows normalized
 * to mean 0 and variance 1. Sums are kept in 16 lanes, so the bits are the same at every
 * instruction set.
 *
 * A mean is rounded, which matters for nearly equal elements: all of them are as far from the mean
 * as from each other. So the second pass also measures the mean's error, which is subtracted. */
#include <math.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/scalar/scalar_base.h"

/* scale_step, bias_step: 1 for one number for each element, 0 for one for the row. A row of several
 * channels has numbers for each channel. */
typedef struct Row {
    const float *x, *scale, *bias; /* bias may be NULL */
    int64_t scale_step, bias_step, size;
    int64_t channels; /* 1 at least; equal parts of the row */
    float epsilon;
    float *y;
    float mean, deviation_inverse; /* results */
    float mean_off;                /* the mean of x - mean, which rounding leaves */
} Row;

typedef void RowKernel(Row *row);

CPU_INLINE void write_channel(const Row *row, int64_t size) {
    const float mean = row->mean, off = row->mean_off, inverse = row->deviation_inverse;
    const float *x = row->x, *scale = row->scale, *bias = row->bias;
    const float all = *scale, shift = bias && !row->bias_step ? *bias : 0;
    float *y = row->y;
    if (row->scale_step)
        CPU_EACH_LANE(i, size) y[i] = (x[i] - mean - off) * inverse * scale[i];
    else
        CPU_EACH_LANE(i, size) y[i] = (x[i] - mean - off) * inverse * all;
    if (bias && row->bias_step)
        CPU_EACH_LANE(i, size) y[i] += bias[i];
    else if (bias)
        CPU_EACH_LANE(i, size) y[i] += shift;
}

CPU_INLINE void write_row(const Row *row) {
    const int64_t size = row->size / row->channels;
    Row channel = *row;
    for (int64_t i = 0; i < row->channels; i++) {
        for (int64_t begin = 0, end; begin < size; begin = end) {
            Row piece = channel;
            if (begin > 0 && kernel_stop_ends()) return;
            end = kernel_stop_piece(begin, size);
            piece.x += begin;
            piece.y += begin;
            piece.scale += begin * row->scale_step;
            if (piece.bias) piece.bias += begin * row->bias_step;
            write_channel(&piece, end - begin);
        }
        if (kernel_stop_ends_at(i)) return;
        channel.x += size;
        channel.y += size;
        channel.scale++;
        if (channel.bias) channel.bias++;
    }
}

/* left: the sum of x - mean; squares: the sum of its squares. */
CPU_INLINE void finish_row(Row *row, float left, float squares) {
    /* computed early, so that nothing waits for the division */
    const float part = 1.0f / (float)row->size;
    const float off = left * part, variance = squares * part - off * off;
    row->mean_off = off;
    row->deviation_inverse = 1.0f / sqrtf((variance < 0 ? 0 : variance) + row->epsilon);
    write_row(row);
    row->mean += off;
}

CPU_INLINE void centered_row_body(Row *row) {
    const int64_t whole = row->size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    const float *rest = row->x + whole;
    CpuF32x16 sum = {0};
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES) sum += cpu_f32x16_load(row->x + i);
    if (whole < row->size) sum += cpu_f32x16_load_part(rest, row->size - whole, 0);
    row->mean = cpu_f32x16_sum(sum) / (float)row->size;
    CpuF32x16 left = {0}, squares = {0};
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES) {
        CpuF32x16 x = cpu_f32x16_load(row->x + i) - row->mean;
        left += x;
        squares += x * x;
    }
    if (whole < row->size) {
        CpuF32x16 x = cpu_f32x16_load_part(rest, row->size - whole, row->mean) - row->mean;
        left += x;
        squares += x * x;
    }
    finish_row(row, cpu_f32x16_sum(left), cpu_f32x16_sum(squares));
}
CPU_INLINE void centered_row_halves_body(Row *row) {
    const float *x = row->x;
    const int64_t whole = row->size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    CpuF32x8 low = {0}, high = {0}, low_squares = {0}, high_squares = {0};
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES) {
        low += cpu_f32x8_load(x + i);
        high += cpu_f32x8_load(x + i + CPU_HALF_LANES);
    }
    for (int64_t i = whole; i < row->size; i++)
        if (i - whole < CPU_HALF_LANES)
            low[i - whole] += x[i];
        else
            high[i - whole - CPU_HALF_LANES] += x[i];
    const float mean = row->mean = cpu_f32x8_sum(low, high) / (float)row->size;
    low = high = (CpuF32x8){0};
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES) {
        const CpuF32x8 first = cpu_f32x8_load(x + i) - mean;
        const CpuF32x8 second = cpu_f32x8_load(x + i + CPU_HALF_LANES) - mean;
        low += first;
        high += second;
        low_squares += first * first;
        high_squares += second * second;
    }
    for (int64_t i = whole; i < row->size; i++) {
        const int64_t lane = (i - whole) % CPU_HALF_LANES;
        const float rest = x[i] - mean;
        if (i - whole < CPU_HALF_LANES) {
            low[lane] += rest;
            low_squares[lane] += rest * rest;
        } else {
            high[lane] += rest;
            high_squares[lane] += rest * rest;
        }
    }
    finish_row(row, cpu_f32x8_sum(low, high), cpu_f32x8_sum(low_squares, high_squares));
}
CPU_VARIANTS_HALVES(centered_row, (Row * row), (row));

CPU_INLINE void uncentered_row_body(Row *row) {
    CpuF32x16 squares = {0};
    KERNEL_STOP_EVERY (i, 0, row->size, CPU_VECTOR_LANES) {
        CpuF32x16 x = cpu_f32x16_load_part(row->x + i, row->size - i, 0);
        squares += x * x;
    }
    const float mean_square = cpu_f32x16_sum(squares) / (float)row->size;
    row->mean = row->mean_off = 0;
    row->deviation_inverse = 1.0f / sqrtf(mean_square + row->epsilon);
    write_row(row);
}
CPU_VARIANTS(uncentered_row, (Row * row), (row));

/* An operand that is read along with the rows of x. */
typedef struct Along {
    bool present;
    int64_t step;     /* between elements of a row: 1 or 0 */
    int64_t row_step; /* between rows */
    int64_t row_wrap; /* the operand repeats after so many rows; 0: never */
    bool expanded;    /* broadcasts in no simple way: written out in the workspace first */
    int64_t strides[SHAPE_RANK_MAX];
} Along;

typedef struct NormalizationState {
    Shape shape; /* of x */
    int64_t rows, size;
    int64_t channels; /* of a row */
    float epsilon;
    Along scale, bias;
    bool mean_wanted, deviation_wanted;
    RowKernel *kernel;
} NormalizationState;

typedef struct Run {
    const NormalizationState *state;
    const float *x, *scale, *bias;
    float *y, *mean, *deviation;
} Run;

static const float *along_at(const Along *along, const float *data, int64_t row) {
    if (!along->present) return NULL;
    return data + (along->row_wrap ? row % along->row_wrap : row) * along->row_step;
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const NormalizationState *state = run->state;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        Row row = {
            .x = run->x + i * state->size,
            .scale = along_at(&state->scale, run->scale, i),
            .bias = along_at(&state->bias, run->bias, i),
            .scale_step = state->scale.step,
            .bias_step = state->bias.step,
            .size = state->size,
            .channels = state->channels,
            .epsilon = state->epsilon,
            .y = run->y + i * state->size,
        };
        state->kernel(&row);
        if (run->mean) run->mean[i] = row.mean;
        if (run->deviation) run->deviation[i] = row.deviation_inverse;
    }
    return NULL;
}

static void expand(const Shape *shape, const int64_t *strides, const float *from, float *to) {
    int64_t index[SHAPE_RANK_MAX] = {0};
    const int64_t count = shape_count_unchecked(shape);
    int64_t offset = 0;
    KERNEL_STOP_EACH (i, 0, count) {
        to[i] = from[offset];
        for (uint32_t d = shape->rank; d-- > 0;) {
            offset += strides[d];
            if (++index[d] < shape->dims[d]) break;
            offset -= strides[d] * shape->dims[d];
            index[d] = 0;
        }
    }
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const NormalizationState *state = opaque;
    Run run = {
        .state = state,
        .x = call->inputs[0],
        .scale = call->inputs[1],
        .bias = state->bias.present ? call->inputs[2] : NULL,
        .y = call->outputs[0],
        .mean = state->mean_wanted ? call->outputs[1] : NULL,
        .deviation = state->deviation_wanted ? call->outputs[2] : NULL,
    };
    if (state->size == 0) { /* the mean of nothing is not a number */
        if (!run.mean && !run.deviation)
            return NULL; /* rows of nothing cost no memory: any number */
        for (int64_t i = 0; i < state->rows; i++) {
            if (run.mean) run.mean[i] = scalar_nan_f32();
            if (run.deviation) run.deviation[i] = scalar_nan_f32();
        }
        return NULL;
    }
    float *scratch = call->workspace;
    if (state->scale.expanded) {
        expand(&state->shape, state->scale.strides, run.scale, scratch);
        run.scale = scratch;
        scratch += state->rows * state->size;
    }
    if (state->bias.expanded) {
        expand(&state->shape, state->bias.strides, run.bias, scratch);
        run.bias = scratch;
    }
    return cpu_for_each(call->device, call->launch->threads, (uint64_t)state->rows,
        (uint64_t)(65536 / (state->size + 1)) + 1, run_units, &run);
}

/* Reads an operand that broadcasts to x. The last dimensions of x, from `axis` on, are a row. */
static Along along_of(const TensorSpec *spec, const Shape *x, uint32_t axis) {
    Along along = {.present = true, .step = 1, .row_wrap = 1};
    const Shape *shape = &spec->shape;
    const int64_t count = shape_count_unchecked(shape);
    const int64_t size = shape_product(x, axis, x->rank);
    shape_broadcast_strides(shape, x, along.strides);
    if (count == 1) {
        along.step = 0;
        return along;
    }
    bool plain = count == size;
    int64_t stride = size;
    for (uint32_t d = axis; d < x->rank; d++) {
        stride = x->dims[d] ? stride / x->dims[d] : 0;
        plain = plain && (x->dims[d] == 1 || along.strides[d] == stride);
    }
    if (plain) return along;
    along.expanded = true;
    along.row_step = size;
    along.row_wrap = 0;
    return along;
}

static int64_t expanded_bytes(const NormalizationState *state) {
    const int64_t copies = (state->scale.expanded ? 1 : 0) + (state->bias.expanded ? 1 : 0);
    return copies * state->rows * state->size * (int64_t)sizeof(float);
}

static Error *plan_rows(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    const bool centered = request->operator_info->id == OPERATOR_LAYER_NORMALIZATION;
    if (!cpu_float_plan_takes(request)) return cpu_decline(out);
    uint32_t axis;
    TRY(shape_axis(attributes_int(request->attributes, "axis"), x->rank, &axis));
    void *opaque;
    TRY(cpu_float_plan_create(
        device, request, "cpu.normalization", sizeof(NormalizationState), run, out, &opaque));
    NormalizationState *state = opaque;
    const CpuLevel level = cpu_device(device)->level;
    state->shape = *x;
    state->channels = 1;
    state->rows = shape_product(x, 0, axis);
    state->size = shape_product(x, axis, x->rank);
    state->epsilon = (float)attributes_float(request->attributes, "epsilon");
    state->kernel = centered ? centered_row_for(level) : uncentered_row_for(level);
    state->scale = along_of(&request->inputs[1], x, axis);
    if (plan_request_has(request, 2)) state->bias = along_of(&request->inputs[2], x, axis);
    state->mean_wanted = request->output_count > 1 && request->outputs[1].present;
    state->deviation_wanted = request->output_count > 2 && request->outputs[2].present;
    cpu_float_plan_set_workspace(*out, (uint64_t)expanded_bytes(state));
    return NULL;
}

/* x [N, C, …]: one row per image and group of channels, one scale and bias per channel. The groups
 * of InstanceNormalization are single channels. */
static Error *plan_groups(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    const bool grouped = request->operator_info->id == OPERATOR_GROUP_NORMALIZATION;
    const int64_t groups = grouped ? attributes_int(request->attributes, "num_groups") : x->dims[1];
    void *opaque;
    TRY(cpu_float_plan_create(
        device, request, "cpu.normalization", sizeof(NormalizationState), run, out, &opaque));
    NormalizationState *state = opaque;
    state->shape = *x;
    state->channels = groups > 0 ? x->dims[1] / groups : 1;
    state->rows = x->dims[0] * groups;
    state->size = state->channels * shape_product(x, 2, x->rank);
    state->epsilon = (float)attributes_float(request->attributes, "epsilon");
    state->kernel = centered_row_for(cpu_device(device)->level);
    state->scale = (Along){.present = true, .row_step = state->channels, .row_wrap = groups};
    state->bias = state->scale;
    return NULL;
}

const Kernel cpu_normalization[] = {
    {OPERATOR_LAYER_NORMALIZATION, DTYPES_FLOAT32_AND_HALF, plan_rows, "cpu.normalization",
        KERNEL_PORTABLE},
    {OPERATOR_RMS_NORMALIZATION, DTYPES_FLOAT32_AND_HALF, plan_rows, "cpu.normalization",
        KERNEL_PORTABLE},
    {OPERATOR_INSTANCE_NORMALIZATION, DTYPES_FLOAT32_AND_HALF, plan_groups, "cpu.normalization",
        KERNEL_PORTABLE},
    {OPERATOR_GROUP_NORMALIZATION, DTYPES_FLOAT32_AND_HALF, plan_groups, "cpu.normalization",
        KERNEL_PORTABLE},
    KERNELS_END,
};
