/* Softmax and LogSoftmax along any axis: cuts a tensor into blocks of rows or columns. */
#include <string.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/normalization/cpu_softmax_block.h"

typedef struct SoftmaxState {
    int64_t outer, size, inner;
    bool short_rows; /* a block is up to 16 rows */
    CpuSoftmaxBlock *block;
} SoftmaxState;

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
    const bool rows = state->inner == 1;
    state->short_rows = rows && state->size < CPU_VECTOR_LANES && state->outer > 1;
    const CpuSoftmaxForm form = state->short_rows ? CPU_SOFTMAX_SHORT_ROWS
                                : rows            ? CPU_SOFTMAX_ROW
                                                  : CPU_SOFTMAX_COLUMNS;
    const bool logarithm = request->operator_info->id != OPERATOR_SOFTMAX;
    state->block = cpu_softmax_block_for(cpu_device(device)->level, form, logarithm);
    return NULL;
}

const Kernel cpu_softmax[] = {
    {OPERATOR_SOFTMAX, DTYPES_FLOAT32_AND_HALF, plan, "cpu.softmax", KERNEL_PORTABLE},
    {OPERATOR_LOG_SOFTMAX, DTYPES_FLOAT32_AND_HALF, plan, "cpu.softmax", KERNEL_PORTABLE},
    KERNELS_END,
};
