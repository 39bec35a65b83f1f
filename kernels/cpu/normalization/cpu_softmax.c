/* Softmax and LogSoftmax along any axis. The bits are the same at every instruction set: a row's
 * terms are added in 16 lanes that are folded at the end, columns beside each other are summed one
 * lane each. */
#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/scalar/scalar_exponential.h"

typedef void SoftmaxBlock(const float *x, int64_t size, int64_t inner, int64_t columns, float *y);

typedef struct SoftmaxState {
    int64_t outer, size, inner;
    SoftmaxBlock *block;
} SoftmaxState;

#define MINUS_INFINITY (-__builtin_inff())

/* ---- rows: the axis is the last one ---- */

CPU_INLINE float row_max(const float *x, int64_t size) {
    CpuF32x16 most = cpu_f32x16_all(MINUS_INFINITY);
    const int64_t whole = size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES)
        most = cpu_f32x16_max(cpu_f32x16_load(x + i), most);
    if (whole < size)
        most = cpu_f32x16_max(cpu_f32x16_load_part(x + whole, size - whole, MINUS_INFINITY), most);
    return cpu_f32x16_largest(most);
}

/* Adds up e^(x - shift), and writes the terms to y unless y is NULL. */
CPU_INLINE float row_exp_sum(const float *x, int64_t size, float shift, float *y) {
    CpuF32x16 sum = {0};
    const int64_t whole = size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES) {
        CpuF32x16 term = cpu_f32x16_exp(cpu_f32x16_load(x + i) - shift);
        if (y) cpu_f32x16_store(y + i, term);
        sum += term;
    }
    if (whole < size) {
        CpuF32x16 term =
            cpu_f32x16_exp(cpu_f32x16_load_part(x + whole, size - whole, MINUS_INFINITY) - shift);
        if (y) cpu_f32x16_store_part(y + whole, size - whole, term);
        sum += term;
    }
    return cpu_f32x16_sum(sum);
}

CPU_INLINE void softmax_rows_body(
    const float *x, int64_t size, int64_t inner, int64_t columns, float *y) {
    (void)inner, (void)columns;
    const float sum = row_exp_sum(x, size, row_max(x, size), y);
    const float scale = 1.0f / sum;
    const int64_t whole = size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES)
        cpu_f32x16_store(y + i, cpu_f32x16_load(y + i) * scale);
    for (int64_t i = whole; i < size; i++) y[i] *= scale;
}
CPU_VARIANTS(softmax_rows, (const float *x, int64_t size, int64_t inner, int64_t columns, float *y),
    (x, size, inner, columns, y));

CPU_INLINE void log_softmax_rows_body(
    const float *x, int64_t size, int64_t inner, int64_t columns, float *y) {
    (void)inner, (void)columns;
    const float most = row_max(x, size);
    const float log_sum = scalar_log_f32(row_exp_sum(x, size, most, NULL));
    const int64_t whole = size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES)
        cpu_f32x16_store(y + i, cpu_f32x16_load(x + i) - most - log_sum);
    for (int64_t i = whole; i < size; i++) y[i] = x[i] - most - log_sum;
}
CPU_VARIANTS(log_softmax_rows,
    (const float *x, int64_t size, int64_t inner, int64_t columns, float *y),
    (x, size, inner, columns, y));

/* ---- up to 16 adjacent columns: the axis is not the last one ---- */

CPU_INLINE CpuF32x16 columns_max(const float *x, int64_t size, int64_t inner, int64_t columns) {
    CpuF32x16 most = cpu_f32x16_all(MINUS_INFINITY);
    KERNEL_STOP_EACH (i, 0, size)
        most = cpu_f32x16_max(cpu_f32x16_load_part(x + i * inner, columns, 0), most);
    return most;
}

CPU_INLINE void softmax_columns_body(
    const float *x, int64_t size, int64_t inner, int64_t columns, float *y) {
    const CpuF32x16 most = columns_max(x, size, inner, columns);
    CpuF32x16 sum = {0};
    KERNEL_STOP_EACH (i, 0, size) {
        CpuF32x16 term = cpu_f32x16_exp(cpu_f32x16_load_part(x + i * inner, columns, 0) - most);
        cpu_f32x16_store_part(y + i * inner, columns, term);
        sum += term;
    }
    const CpuF32x16 scale = 1.0f / sum;
    KERNEL_STOP_EACH (i, 0, size) {
        CpuF32x16 term = cpu_f32x16_load_part(y + i * inner, columns, 0);
        cpu_f32x16_store_part(y + i * inner, columns, term * scale);
    }
}
CPU_VARIANTS(softmax_columns,
    (const float *x, int64_t size, int64_t inner, int64_t columns, float *y),
    (x, size, inner, columns, y));

CPU_INLINE void log_softmax_columns_body(
    const float *x, int64_t size, int64_t inner, int64_t columns, float *y) {
    const CpuF32x16 most = columns_max(x, size, inner, columns);
    CpuF32x16 sum = {0};
    KERNEL_STOP_EACH (i, 0, size)
        sum += cpu_f32x16_exp(cpu_f32x16_load_part(x + i * inner, columns, 0) - most);
    CpuF32x16 log_sum;
    for (int lane = 0; lane < CPU_VECTOR_LANES; lane++) log_sum[lane] = scalar_log_f32(sum[lane]);
    KERNEL_STOP_EACH (i, 0, size) {
        CpuF32x16 value = cpu_f32x16_load_part(x + i * inner, columns, 0);
        cpu_f32x16_store_part(y + i * inner, columns, value - most - log_sum);
    }
}
CPU_VARIANTS(log_softmax_columns,
    (const float *x, int64_t size, int64_t inner, int64_t columns, float *y),
    (x, size, inner, columns, y));

/* ---- the plan ---- */

typedef struct Run {
    const SoftmaxState *state;
    const float *x;
    float *y;
} Run;

static int64_t blocks_per_outer(const SoftmaxState *state) {
    return (state->inner + CPU_VECTOR_LANES - 1) / CPU_VECTOR_LANES;
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const SoftmaxState *state = run->state;
    const int64_t blocks = blocks_per_outer(state);
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        const int64_t column = i % blocks * CPU_VECTOR_LANES;
        const int64_t left = state->inner - column;
        const int64_t offset = i / blocks * state->size * state->inner + column;
        state->block(run->x + offset, state->size, state->inner,
            left < CPU_VECTOR_LANES ? left : CPU_VECTOR_LANES, run->y + offset);
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const SoftmaxState *state = opaque;
    if (state->size == 0) return NULL;
    Run run = {state, call->inputs[0], call->outputs[0]};
    const int64_t units = state->outer * blocks_per_outer(state);
    const int64_t columns = state->inner < CPU_VECTOR_LANES ? state->inner : CPU_VECTOR_LANES;
    return cpu_for_each(call->device, call->launch->threads, (uint64_t)units,
        (uint64_t)(16384 / (state->size * columns + 1)) + 1, run_units, &run);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *shape = &request->inputs[0].shape;
    uint32_t axis;
    TRY(shape_axis(attributes_int(request->attributes, "axis"), shape->rank, &axis));
    void *opaque;
    TRY(cpu_float_plan_create(
        device, request, "cpu.softmax", sizeof(SoftmaxState), run, out, &opaque));
    SoftmaxState *state = opaque;
    state->outer = shape_product(shape, 0, axis);
    state->size = shape->dims[axis];
    state->inner = shape_product(shape, axis + 1, shape->rank);
    const CpuLevel level = cpu_device(device)->level;
    const bool rows = state->inner == 1;
    if (request->operator_info->id == OPERATOR_SOFTMAX)
        state->block = rows ? softmax_rows_for(level) : softmax_columns_for(level);
    else
        state->block = rows ? log_softmax_rows_for(level) : log_softmax_columns_for(level);
    return NULL;
}

const Kernel cpu_softmax[] = {
    {OPERATOR_SOFTMAX, DTYPES_FLOAT32_AND_HALF, plan, "cpu.softmax", KERNEL_PORTABLE},
    {OPERATOR_LOG_SOFTMAX, DTYPES_FLOAT32_AND_HALF, plan, "cpu.softmax", KERNEL_PORTABLE},
    KERNELS_END,
};
