/* Softmax and LogSoftmax along any axis. The bits are the same at every instruction set: a row's
 * terms are added in 16 lanes that are folded at the end, columns beside each other are summed one
 * lane each. Rows below 16 elements, the classes of most tables, are taken 16 at a time: their
 * elements change places, and the terms are added in the order of the lanes of one row. */
#include <string.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/scalar/scalar_exponential.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef void SoftmaxBlock(const float *x, int64_t size, int64_t inner, int64_t columns, float *y);

typedef struct SoftmaxState {
    int64_t outer, size, inner;
    bool short_rows; /* a block is up to 16 rows */
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

#if defined(__x86_64__)
/* Takes the vector by address: how a vector is passed by value depends on the caller's
 * instruction set. */
CPU_INLINE void take_exp(CpuF32x16 *x) { *x = cpu_f32x16_exp(*x); }

/* softmax_rows_body with masks for the last lanes, which load_part would move through memory. */
CPU_TARGET_AVX512 static void softmax_rows_masked(
    const float *x, int64_t size, int64_t inner, int64_t columns, float *y) {
    (void)inner, (void)columns;
    const int64_t whole = size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    const __mmask16 left = (__mmask16)((1u << (size - whole)) - 1);
    const __m512 least = _mm512_set1_ps(MINUS_INFINITY);
    const __m512 last = _mm512_mask_loadu_ps(least, left, x + whole);
    __m512 most = least;
    CpuF32x16 sum = {0};
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES)
        most = _mm512_max_ps(_mm512_loadu_ps(x + i), most);
    most = _mm512_max_ps(last, most);
    const __m512 shift = _mm512_set1_ps(_mm512_reduce_max_ps(most));
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES) {
        CpuF32x16 term = (CpuF32x16)_mm512_sub_ps(_mm512_loadu_ps(x + i), shift);
        take_exp(&term);
        _mm512_storeu_ps(y + i, (__m512)term);
        sum += term;
    }
    CpuF32x16 end = (CpuF32x16)_mm512_sub_ps(last, shift);
    take_exp(&end);
    if (left) sum += end;
    float lanes[CPU_VECTOR_LANES];
    _mm512_storeu_ps(lanes, (__m512)sum);
    const __m512 scale = _mm512_set1_ps(1.0f / cpu_lanes_sum(lanes));
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES)
        _mm512_storeu_ps(y + i, _mm512_mul_ps(_mm512_loadu_ps(y + i), scale));
    _mm512_mask_storeu_ps(y + whole, left, _mm512_mul_ps((__m512)end, scale));
}
#endif

static SoftmaxBlock *rows_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return softmax_rows_masked;
#endif
    return softmax_rows_for(level);
}

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

/* ---- up to 16 short rows: of fewer than 16 elements ---- */

/* lanes[k]: element k of all rows; lanes from `size` on stay as they are. */
CPU_INLINE void spread(const float *x, int64_t size, int64_t rows, CpuF32x16 *lanes) {
    float parts[CPU_VECTOR_LANES][CPU_VECTOR_LANES] = {0};
    for (int64_t row = 0; row < rows; row++)
        for (int64_t k = 0; k < size; k++) parts[k][row] = x[row * size + k];
    for (int64_t k = 0; k < size; k++) lanes[k] = cpu_f32x16_load(parts[k]);
}

CPU_INLINE void gather(const CpuF32x16 *lanes, int64_t size, int64_t rows, float *y) {
    float parts[CPU_VECTOR_LANES][CPU_VECTOR_LANES];
    for (int64_t k = 0; k < size; k++) cpu_f32x16_store(parts[k], lanes[k]);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t k = 0; k < size; k++) y[row * size + k] = parts[k][row];
}

CPU_INLINE CpuF32x16 lanes_max(const CpuF32x16 *lanes, int64_t size) {
    CpuF32x16 most = cpu_f32x16_all(MINUS_INFINITY);
    for (int64_t k = 0; k < size; k++) most = cpu_f32x16_max(lanes[k], most);
    return most;
}

/* In the order of cpu_f32x16_sum, with zeros behind the last lane. */
CPU_INLINE CpuF32x16 lanes_sum(const CpuF32x16 *lanes, int64_t size) {
    CpuF32x16 sums[8];
    for (int64_t k = 0; k < 8; k++)
        sums[k] = (k < size ? lanes[k] : cpu_f32x16_all(0)) +
                  (k + 8 < size ? lanes[k + 8] : cpu_f32x16_all(0));
    for (int64_t k = 0; k < 4; k++) sums[k] += sums[k + 4];
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

CPU_INLINE void softmax_short_body(
    const float *x, int64_t size, int64_t inner, int64_t rows, float *y) {
    CpuF32x16 lanes[CPU_VECTOR_LANES];
    (void)inner;
    spread(x, size, rows, lanes);
    const CpuF32x16 most = lanes_max(lanes, size);
    for (int64_t k = 0; k < size; k++) lanes[k] = cpu_f32x16_exp(lanes[k] - most);
    const CpuF32x16 scale = 1.0f / lanes_sum(lanes, size);
    for (int64_t k = 0; k < size; k++) lanes[k] *= scale;
    gather(lanes, size, rows, y);
}
CPU_VARIANTS(softmax_short, (const float *x, int64_t size, int64_t inner, int64_t rows, float *y),
    (x, size, inner, rows, y));

CPU_INLINE void log_softmax_short_body(
    const float *x, int64_t size, int64_t inner, int64_t rows, float *y) {
    CpuF32x16 lanes[CPU_VECTOR_LANES], terms[CPU_VECTOR_LANES];
    (void)inner;
    spread(x, size, rows, lanes);
    const CpuF32x16 most = lanes_max(lanes, size);
    for (int64_t k = 0; k < size; k++) terms[k] = cpu_f32x16_exp(lanes[k] - most);
    CpuF32x16 log_sum = lanes_sum(terms, size);
    for (int lane = 0; lane < CPU_VECTOR_LANES; lane++)
        log_sum[lane] = lane < rows ? scalar_log_f32(log_sum[lane]) : 0;
    for (int64_t k = 0; k < size; k++) lanes[k] = lanes[k] - most - log_sum;
    gather(lanes, size, rows, y);
}
CPU_VARIANTS(log_softmax_short,
    (const float *x, int64_t size, int64_t inner, int64_t rows, float *y),
    (x, size, inner, rows, y));

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

/* Whole blocks of columns come first; the last columns of each outer index, fewer than 16, are
 * counted over all of them and taken 16 at a time. */
enum {
    TAIL_SIZE_MAX = 256 /* rows of the buffer in which these columns stand beside each other */
};

static int64_t blocks_per_outer(const SoftmaxState *state) {
    return state->inner / CPU_VECTOR_LANES;
}

static int64_t tail_of(const SoftmaxState *state) { return state->inner % CPU_VECTOR_LANES; }

static int64_t units_of(const SoftmaxState *state) {
    const int64_t tails = state->outer * tail_of(state);
    return state->outer * blocks_per_outer(state) +
           (tails + CPU_VECTOR_LANES - 1) / CPU_VECTOR_LANES;
}

/* Adjacent columns of one outer index, and where they are in a block. */
typedef struct TailRun {
    int64_t offset, lane, count;
} TailRun;

/* Cuts up to 16 of the last columns, from `column` on, into runs; the result is their number. */
static int64_t tail_runs(const SoftmaxState *state, int64_t column, TailRun *out) {
    const int64_t tail = tail_of(state), all = state->outer * tail;
    int64_t count = 0;
    for (int64_t lane = 0; lane < CPU_VECTOR_LANES && column < all; count++) {
        const int64_t outer = column / tail, at = column % tail;
        int64_t length = tail - at;
        if (length > CPU_VECTOR_LANES - lane) length = CPU_VECTOR_LANES - lane;
        out[count] =
            (TailRun){outer * state->size * state->inner + state->inner - tail + at, lane, length};
        lane += length;
        column += length;
    }
    return count;
}

/* The rows of a run are `from_row` and `to_row` floats apart. */
static void copy_run(
    const float *from, int64_t from_row, float *to, int64_t to_row, int64_t count, int64_t rows) {
    KERNEL_STOP_EACH (i, 0, rows) cpu_f32_copy_part(to + i * to_row, from + i * from_row, count);
}

static void run_tail(const Run *run, int64_t column) {
    const SoftmaxState *state = run->state;
    TailRun runs[CPU_VECTOR_LANES];
    const int64_t count = tail_runs(state, column, runs), size = state->size;
    if (size > TAIL_SIZE_MAX || count == 1) {
        for (int64_t i = 0; i < count; i++)
            state->block(run->x + runs[i].offset, size, state->inner, runs[i].count,
                run->y + runs[i].offset);
        return;
    }
    float buffer[TAIL_SIZE_MAX * CPU_VECTOR_LANES];
    const TailRun *last = &runs[count - 1];
    if (last->lane + last->count < CPU_VECTOR_LANES)
        memset(buffer, 0, (size_t)(size * CPU_VECTOR_LANES) * sizeof *buffer);
    for (int64_t i = 0; i < count; i++)
        copy_run(run->x + runs[i].offset, state->inner, buffer + runs[i].lane, CPU_VECTOR_LANES,
            runs[i].count, size);
    state->block(buffer, size, CPU_VECTOR_LANES, CPU_VECTOR_LANES, buffer);
    for (int64_t i = 0; i < count; i++)
        copy_run(buffer + runs[i].lane, CPU_VECTOR_LANES, run->y + runs[i].offset, state->inner,
            runs[i].count, size);
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const SoftmaxState *state = run->state;
    const int64_t blocks = blocks_per_outer(state);
    if (state->inner == 1) { /* rows stand one behind the other */
        const int64_t size = state->size;
        for (int64_t i = (int64_t)begin; i < (int64_t)end; i++)
            state->block(run->x + i * size, size, 1, 1, run->y + i * size);
        return NULL;
    }
    const int64_t whole = state->outer * blocks;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        if (i >= whole) {
            run_tail(run, (i - whole) * CPU_VECTOR_LANES);
            TRY(kernel_stop_check());
            continue;
        }
        const int64_t offset =
            i / blocks * state->size * state->inner + i % blocks * CPU_VECTOR_LANES;
        state->block(run->x + offset, state->size, state->inner, CPU_VECTOR_LANES, run->y + offset);
    }
    return NULL;
}

/* Units are 16 rows. */
static Error *run_short(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const SoftmaxState *state = run->state;
    KernelStopMeter meter = {0};
    (void)part;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        const int64_t row = i * CPU_VECTOR_LANES, left = state->outer - row;
        state->block(run->x + row * state->size, state->size, 1,
            left < CPU_VECTOR_LANES ? left : CPU_VECTOR_LANES, run->y + row * state->size);
        TRY(kernel_stop_count(&meter, (uint64_t)state->size * CPU_VECTOR_LANES));
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const SoftmaxState *state = opaque;
    if (state->size == 0) return NULL;
    Run run = {state, call->inputs[0], call->outputs[0]};
    if (state->short_rows)
        return cpu_for_each(call->device, call->launch->threads,
            (uint64_t)((state->outer + CPU_VECTOR_LANES - 1) / CPU_VECTOR_LANES),
            (uint64_t)(1024 / (state->size + 1)) + 1, run_short, &run);
    const int64_t units = state->inner == 1 ? state->outer : units_of(state);
    const int64_t columns = state->inner == 1 ? 1 : CPU_VECTOR_LANES;
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
    const bool rows = state->inner == 1, logarithm = request->operator_info->id != OPERATOR_SOFTMAX;
    state->short_rows = rows && state->size < CPU_VECTOR_LANES && state->outer > 1;
    if (state->short_rows)
        state->block = logarithm ? log_softmax_short_for(level) : softmax_short_for(level);
    else if (rows)
        state->block = logarithm ? log_softmax_rows_for(level) : rows_for(level);
    else
        state->block = logarithm ? log_softmax_columns_for(level) : softmax_columns_for(level);
    return NULL;
}

const Kernel cpu_softmax[] = {
    {OPERATOR_SOFTMAX, DTYPES_FLOAT32_AND_HALF, plan, "cpu.softmax", KERNEL_PORTABLE},
    {OPERATOR_LOG_SOFTMAX, DTYPES_FLOAT32_AND_HALF, plan, "cpu.softmax", KERNEL_PORTABLE},
    KERNELS_END,
};
