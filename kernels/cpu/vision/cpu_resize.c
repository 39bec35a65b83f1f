/* Resize: nearest moves elements of any type; linear and cubic resize one axis after the other,
 * shrinking ones first and growing ones from the innermost on, so that no intermediate result is
 * larger than both input and output. float32 and half types are computed in float32, float64 and
 * integers in float64. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "kernels/cpu/movement/cpu_copy.h"
#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/core/cpu_index.h"
#include "kernels/cpu/vision/cpu_resize_filter.h"
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/tensor/dtype_scalar.h"

enum {
    BYTES_PER_PART = 131072,
    ELEMENTS_PER_PART = 32768,
    /* Each launch makes larger tables in the workspace, whose memory counts against the caller's
     * grant. */
    TABLES_OF_PLAN_MAX = 1 << 20
};

/* The input elements and weights of each output element along an axis. */
typedef struct Table {
    int64_t taps; /* 0: the axis does not change */
    const CpuResizeSpan *spans;
    const double *weights;
} Table;

typedef struct Tables {
    ResizeArguments resize;
    size_t late_bytes; /* bytes of tables that a launch makes; 0: `axes` has them */
    Table axes[SHAPE_RANK_MAX];
} Tables;

/* One axis: [outer, input, inner] to [outer, output, inner]. */
typedef struct Pass {
    uint32_t axis;
    int64_t outer, input, output, inner, taps;
    int64_t final_outer, final_inner; /* around the axis in the result */
} Pass;

typedef struct State {
    Tables tables;
    uint32_t pass_count;
    Pass passes[SHAPE_RANK_MAX];
    bool extrapolates, wide, rounds; /* wide: float64; rounds: to integers */
    int64_t count;                   /* of the output */
    uint64_t between_bytes;          /* of each of two buffers between passes */
    void (*combine_f32)(
        const float *x, int64_t inner, const CpuResizeSpan *span, const double *weights, float *y);
    void (*combine_f64)(const double *x, int64_t inner, const CpuResizeSpan *span,
        const double *weights, double *y);
} State;

/* Two elements at a time: the sums are read and written half as often. */
#define COMBINE_BODY(T)                                                                            \
    x += span->first * inner;                                                                      \
    for (int64_t begin = 0, end; begin < inner; begin = end) {                                     \
        const T *from = x;                                                                         \
        const T first = (T)weights[0], second = span->count > 1 ? (T)weights[1] : 0;               \
        KernelStopMeter meter = {0};                                                               \
        end = kernel_stop_piece(begin, inner);                                                     \
        if (span->count > 1)                                                                       \
            for (int64_t i = begin; i < end; i++)                                                  \
                y[i] = from[i] * first + from[inner + i] * second;                                 \
        else                                                                                       \
            for (int64_t i = begin; i < end; i++) y[i] = from[i] * first;                          \
        for (int64_t k = 2; k < span->count; k++) {                                                \
            const T weight = (T)weights[k];                                                        \
            if (kernel_stop_ends_after(&meter, (uint64_t)(end - begin) + 4)) return;               \
            from = x + k * inner;                                                                  \
            for (int64_t i = begin; i < end; i++) y[i] += from[i] * weight;                        \
        }                                                                                          \
        if (end < inner && kernel_stop_ends()) return;                                             \
    }
CPU_INLINE void combine_f32_body(const float *restrict x, int64_t inner, const CpuResizeSpan *span,
    const double *weights, float *restrict y){COMBINE_BODY(float)} CPU_INLINE
    void combine_f64_body(const double *restrict x, int64_t inner, const CpuResizeSpan *span,
        const double *weights, double *restrict y){COMBINE_BODY(double)} CPU_VARIANTS(combine_f32,
        (const float *x, int64_t inner, const CpuResizeSpan *span, const double *weights, float *y),
        (x, inner, span, weights, y));
CPU_VARIANTS(combine_f64,
    (const double *x, int64_t inner, const CpuResizeSpan *span, const double *weights, double *y),
    (x, inner, span, weights, y));

/* The outputs [begin, end) of a row whose elements are adjacent (an inner size of 1), in the same
 * order of sums. An output outside the region of interest is left as it is. */
static void combine_row(
    const float *restrict x, const Table *table, int64_t begin, int64_t end, float *restrict y) {
    const double *weights = table->weights + begin * table->taps;
    KernelStopMeter meter = {0};
    for (int64_t i = begin; i < end; i++, weights += table->taps) {
        const CpuResizeSpan *span = &table->spans[i];
        const float *from = x + span->first;
        if (kernel_stop_ends_after(&meter, (uint64_t)span->count + 1)) return;
        if (span->count == 0) continue;
        float sum = from[0] * (float)weights[0];
        for (int64_t k = 1; k < span->count; k++) sum += from[k] * (float)weights[k];
        y[i] = sum;
    }
}

/* Adds the bytes of one axis: spans, then weights. */
static Error *add_table_bytes(int64_t taps, int64_t output, size_t *inout_bytes) {
    size_t per_output, bytes;
    if (taps == 0) return NULL;
    if (!checked_mul_size((size_t)taps, sizeof(double), &per_output) ||
        !checked_add_size(per_output, sizeof(CpuResizeSpan), &per_output) ||
        !checked_mul_size(per_output, (size_t)output, &bytes) ||
        !checked_add_size(*inout_bytes, bytes, inout_bytes))
        FAIL(EXHAUSTED, "the weights of a resized dimension");
    return NULL;
}

static void make_tables(const ResizeArguments *resize, void *memory, Table *out) {
    for (uint32_t i = 0; i < resize->rank; i++) {
        const ResizeAxis *axis = &resize->axes[i];
        CpuResizeSpan *spans = memory;
        double *weights = (double *)(void *)(spans + axis->output);
        out[i] = (Table){cpu_resize_filter_taps(resize, axis), spans, weights};
        if (out[i].taps == 0) continue;
        cpu_resize_filter_fill(resize, axis, out[i].taps, spans, weights);
        memory = weights + out[i].taps * axis->output;
    }
}

/* The bytes of tables behind a plan's state, and of tables that each launch makes. */
static Error *tables_bytes(
    const ResizeArguments *resize, bool empty, size_t *out_plan, size_t *out_launch) {
    size_t bytes = 0;
    for (uint32_t i = 0; !empty && i < resize->rank; i++)
        TRY(add_table_bytes(
            cpu_resize_filter_taps(resize, &resize->axes[i]), resize->axes[i].output, &bytes));
    *out_plan = bytes > TABLES_OF_PLAN_MAX ? 0 : bytes;
    *out_launch = bytes > TABLES_OF_PLAN_MAX ? bytes : 0;
    return NULL;
}

/* Makes the tables for a launch in memory of late_bytes. */
static const Table *tables_made(const Tables *tables, void *memory, Table *out) {
    make_tables(&tables->resize, memory, out);
    return out;
}

typedef struct PassRun {
    const State *state;
    const Pass *pass;
    const Table *table;
    const void *from;
    void *to;
} PassRun;

static void fill(const State *state, void *to, int64_t at, int64_t count) {
    KERNEL_STOP_EACH (i, 0, count) {
        if (state->wide)
            ((double *)to)[at + i] = state->tables.resize.extrapolation;
        else
            ((float *)to)[at + i] = (float)state->tables.resize.extrapolation;
    }
}

/* Computes the units of rows of adjacent elements. */
static void run_adjacent(const PassRun *run, int64_t begin, int64_t end) {
    const Pass *pass = run->pass;
    for (int64_t unit = begin; unit < end;) {
        const int64_t outer = unit / pass->output, at = unit % pass->output;
        const int64_t left = pass->output - at, count = end - unit < left ? end - unit : left;
        float *to = (float *)run->to + outer * pass->output;
        combine_row((const float *)run->from + outer * pass->input, run->table, at, at + count, to);
        if (kernel_stop_ends()) return;
        unit += count;
    }
}

/* A unit is one output index along the axis, at one outer index. */
static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const PassRun *run = context;
    const State *state = run->state;
    const Pass *pass = run->pass;
    if (pass->inner == 1 && !state->wide && !state->extrapolates) {
        run_adjacent(run, (int64_t)begin, (int64_t)end);
        return NULL;
    }
    int64_t outer = (int64_t)begin / pass->output, at = (int64_t)begin % pass->output;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const CpuResizeSpan *span = &run->table->spans[at];
        const double *weights = run->table->weights + at * pass->taps;
        const int64_t from = outer * pass->input * pass->inner, to = unit * pass->inner;
        if (span->count == 0)
            fill(state, run->to, to, pass->inner);
        else if (state->wide)
            state->combine_f64((const double *)run->from + from, pass->inner, span, weights,
                (double *)run->to + to);
        else
            state->combine_f32(
                (const float *)run->from + from, pass->inner, span, weights, (float *)run->to + to);
        if (++at < pass->output) continue;
        at = 0;
        outer++;
    }
    return NULL;
}

/* An element outside the input along one axis was computed from the weights of the other axes; the
 * extrapolation value replaces it. */
static void fill_outside(const State *state, const Table *tables, void *to) {
    for (uint32_t i = 0; i < state->pass_count; i++) {
        const Pass *pass = &state->passes[i];
        const CpuResizeSpan *spans = tables[pass->axis].spans;
        for (int64_t outer = 0; outer < pass->final_outer && !kernel_stop_ends(); outer++)
            KERNEL_STOP_EACH (at, 0, pass->output)
                if (spans[at].count == 0)
                    fill(state, to, (outer * pass->output + at) * pass->final_inner,
                        pass->final_inner);
    }
}

static Error *run_round(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    double *values = context;
    for (uint64_t i = begin; i < end; i++) values[i] = rint(values[i]);
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const State *state = opaque;
    const uint32_t threads = call->launch->threads;
    const void *from = call->inputs[0];
    Table late[SHAPE_RANK_MAX];
    if (state->count == 0) return NULL;
    const Table *tables = state->tables.axes;
    if (state->tables.late_bytes)
        tables =
            tables_made(&state->tables, (char *)call->workspace + 2 * state->between_bytes, late);
    TRY(kernel_stop_check()); /* tables that were left half made are not read */
    if (state->pass_count == 0)
        return cpu_copy_bytes(call->device, threads, call->outputs[0], from,
            (uint64_t)state->count * (state->wide ? sizeof(double) : sizeof(float)));
    for (uint32_t i = 0; i < state->pass_count; i++) {
        const Pass *pass = &state->passes[i];
        void *to = i + 1 == state->pass_count
                       ? (void *)call->outputs[0]
                       : (char *)call->workspace + (i & 1) * state->between_bytes;
        PassRun run = {state, pass, &tables[pass->axis], from, to};
        const int64_t cost = pass->inner * pass->taps + 8;
        TRY(cpu_for_each(call->device, threads, (uint64_t)(pass->outer * pass->output),
            (uint64_t)(ELEMENTS_PER_PART / cost) + 1, run_units, &run));
        from = to;
    }
    if (state->extrapolates) fill_outside(state, tables, call->outputs[0]);
    TRY(kernel_stop_check());
    if (!state->rounds) return NULL;
    return cpu_for_each(call->device, threads, (uint64_t)state->count, ELEMENTS_PER_PART, run_round,
        call->outputs[0]);
}

/* True if axis `a` is resized before axis `b`, which lies behind it: the one that shrinks more
 * comes first. Of two that grow, the inner one: there are fewest rows then, and the pass along the
 * outer one has long rows. */
static bool comes_before(const ResizeAxis *a, const ResizeAxis *b) {
    const double growth_a = (double)a->output / (double)a->input;
    const double growth_b = (double)b->output / (double)b->input;
    if (growth_a >= 1 && growth_b >= 1) return false;
    return growth_a <= growth_b;
}

/* The axes that change, in the order of their passes. */
static uint32_t order_axes(const ResizeArguments *resize, uint32_t out[SHAPE_RANK_MAX]) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < resize->rank; i++) {
        const ResizeAxis *axis = &resize->axes[i];
        if (cpu_resize_filter_taps(resize, axis) == 0) continue;
        uint32_t at = count++;
        for (; at > 0 && !comes_before(&resize->axes[out[at - 1]], axis); at--)
            out[at] = out[at - 1];
        out[at] = i;
    }
    return count;
}

static void make_passes(
    const ResizeArguments *resize, const Shape *input, const Shape *output, State *state) {
    uint32_t order[SHAPE_RANK_MAX];
    Shape shape = *input;
    uint64_t most = 0;
    state->pass_count = order_axes(resize, order);
    for (uint32_t i = 0; i < state->pass_count; i++) {
        const uint32_t d = order[i];
        const ResizeAxis *axis = &resize->axes[d];
        Pass *pass = &state->passes[i];
        *pass = (Pass){.axis = d,
            .outer = shape_product(&shape, 0, d),
            .input = axis->input,
            .output = axis->output,
            .inner = shape_product(&shape, d + 1, shape.rank),
            .taps = cpu_resize_filter_taps(resize, axis),
            .final_outer = shape_product(output, 0, d),
            .final_inner = shape_product(output, d + 1, output->rank)};
        shape.dims[d] = axis->output;
        const uint64_t count = (uint64_t)shape_count_unchecked(&shape);
        if (i + 1 < state->pass_count && count > most) most = count;
    }
    state->between_bytes = most * (state->wide ? sizeof(double) : sizeof(float));
}

static Error *plan_weighted(
    Device *device, const PlanRequest *request, const ResizeArguments *resize, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    const DType dtype = request->inputs[0].dtype;
    const int64_t count = shape_count_unchecked(&request->outputs[0].shape);
    size_t bytes, late_bytes;
    void *opaque;
    TRY(tables_bytes(resize, count == 0, &bytes, &late_bytes));
    TRY(cpu_float_plan_create_number(
        device, request, "cpu.resize", sizeof(State) + bytes, run, out, &opaque));
    State *state = opaque;
    state->count = count;
    state->tables.resize = *resize;
    state->tables.late_bytes = late_bytes;
    state->extrapolates = resize->coordinates == RESIZE_TF_CROP_AND_RESIZE;
    state->rounds = dtype_is_integer(dtype);
    state->wide = state->rounds || dtype == DTYPE_FLOAT64;
    state->combine_f32 = combine_f32_for(level);
    state->combine_f64 = combine_f64_for(level);
    if (count == 0) return NULL; /* an empty output may have dimensions of any size */
    make_passes(resize, &request->inputs[0].shape, &request->outputs[0].shape, state);
    if (late_bytes == 0) make_tables(resize, state + 1, state->tables.axes);
    cpu_float_plan_set_workspace(*out, 2 * state->between_bytes + late_bytes);
    return cpu_plan_check(out);
}

/* Nearest: dimensions behind the last one that changes are moved as blocks of bytes. */
typedef struct MoveState {
    Tables tables;
    uint32_t rank; /* up to and with the last dimension that changes; 1 at least */
    int64_t out_dims[SHAPE_RANK_MAX], strides[SHAPE_RANK_MAX]; /* strides in blocks */
    uint64_t rows, block_bytes, size;
    uint8_t value[8];
} MoveState;

typedef struct MoveRun {
    const MoveState *state;
    const Table *tables;
    const char *from;
    char *to;
} MoveRun;

/* The input index for output index `at`; -1: outside the input. */
static int64_t source(const Table *table, int64_t at) {
    if (table->taps == 0) return at;
    return table->spans[at].count ? table->spans[at].first : -1;
}

static Error *run_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const MoveRun *run = context;
    const MoveState *state = run->state;
    const uint32_t last = state->rank - 1;
    const size_t block = (size_t)state->block_bytes;
    char *to = run->to + begin * (uint64_t)state->out_dims[last] * block;
    for (uint64_t row = begin; row < end; row++) {
        int64_t rest = (int64_t)row, offset = 0;
        bool outside = false;
        for (uint32_t d = last; d-- > 0; rest /= state->out_dims[d]) {
            const int64_t at = source(&run->tables[d], rest % state->out_dims[d]);
            outside = outside || at < 0;
            offset += at * state->strides[d];
        }
        for (int64_t i = 0; i < state->out_dims[last]; i++, to += block) {
            if (kernel_stop_ends_at(i)) return NULL;
            const int64_t at = source(&run->tables[last], i);
            if (outside || at < 0)
                cpu_fill(to, state->value, (size_t)state->size, (int64_t)(block / state->size));
            else
                cpu_move(to, run->from + (uint64_t)(offset + at) * block, block);
        }
    }
    return NULL;
}

static Error *launch_move(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const MoveState *state = plan_state(plan);
    Table late[SHAPE_RANK_MAX];
    (void)output_shapes;
    const uint64_t row_bytes = (uint64_t)state->out_dims[state->rank - 1] * state->block_bytes;
    if (state->rows == 0 || row_bytes == 0) return NULL;
    MoveRun run = {state, state->tables.axes, cpu_input(launch, 0), cpu_output(launch, 0)};
    if (state->tables.late_bytes)
        run.tables = tables_made(&state->tables, cpu_workspace(launch), late);
    TRY(kernel_stop_check()); /* tables that were left half made are not read */
    return cpu_for_each(cpu_device(plan->device), launch->threads, state->rows,
        BYTES_PER_PART / row_bytes + 1, run_rows, &run);
}

static Error *plan_nearest(
    Device *device, const PlanRequest *request, const ResizeArguments *resize, Plan **out) {
    const Shape *in = &request->inputs[0].shape, *to = &request->outputs[0].shape;
    const bool empty = shape_count_unchecked(to) == 0;
    size_t bytes, late_bytes;
    TRY(tables_bytes(resize, empty, &bytes, &late_bytes));
    TRY(plan_create(device, request, "cpu.resize", sizeof(MoveState) + bytes, out));
    MoveState *state = plan_state(*out);
    state->size = dtype_bits(request->inputs[0].dtype) / 8;
    state->rank = 1;
    state->out_dims[0] = 1;
    (*out)->launch = launch_move;
    if (empty) return NULL; /* rows 0 */
    state->tables.resize = *resize;
    state->tables.late_bytes = late_bytes;
    (*out)->workspace_bytes = late_bytes;
    if (late_bytes == 0) make_tables(resize, state + 1, state->tables.axes);
    (void)dtype_scalar_write(request->inputs[0].dtype, resize->extrapolation, state->value);
    for (uint32_t d = 0; d < in->rank; d++) {
        state->out_dims[d] = to->dims[d];
        if (cpu_resize_filter_taps(resize, &resize->axes[d]) > 0) state->rank = d + 1;
    }
    const uint32_t behind = state->rank < in->rank ? state->rank : in->rank;
    state->block_bytes = (uint64_t)shape_product(in, behind, in->rank) * state->size;
    state->rows = 1;
    int64_t step = 1;
    for (uint32_t d = behind; d-- > 0; step *= in->dims[d]) {
        state->strides[d] = step;
        if (d + 1 < state->rank) state->rows *= (uint64_t)to->dims[d];
    }
    return cpu_plan_check(out);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    ResizeArguments resize;
    TRY(resize_arguments(request, &resize));
    if (resize.mode == RESIZE_NEAREST) return plan_nearest(device, request, &resize, out);
    return plan_weighted(device, request, &resize, out);
}

const Kernel cpu_resize[] = {
    {OPERATOR_RESIZE, DTYPES_ANY, plan, "cpu.resize", KERNEL_PORTABLE},
    KERNELS_END,
};
