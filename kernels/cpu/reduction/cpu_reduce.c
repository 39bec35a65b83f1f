/* ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceSumSquare,
 * ReduceLogSum.
 *
 * Dimensions collapse into groups that are kept or reduced in turn. The innermost two groups are
 * either rows (reduced innermost) or columns (kept innermost); groups outside them are walked
 * through. A long reduction is cut into segments of fixed length, each reduced by itself and then
 * combined in order: the cut depends on the shape alone, so threads never change bits. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/tensor/reduce_groups.h"
#include "kernels/scalar/scalar_convert.h"
#include "kernels/scalar/scalar_exponential.h"
#include "kernels/arguments/arguments.h"

enum {
    SEGMENT = 65536, /* elements of a row, or rows of a column, that are reduced as one piece */
    COLUMN_SEGMENT = 2048,
    CHUNK = 256,               /* outputs of a unit */
    ELEMENTS_PER_PART = 65536, /* elements for which a thread is worth its start */
};

typedef struct State {
    const CpuReducer *reducer;
    CpuReduction reduction;
    OperatorId operator_id;
    DType dtype;
    uint32_t size;
    ReduceGroups groups;
    int64_t segment, segments;
    uint64_t chunks, units, units_per_part_min;
    double count; /* number of reduced elements for each output */
    CpuTotal identity;
} State;

typedef struct Run {
    const State *state;
    const char *from;
    char *to;
    CpuTotal *partial; /* [segments][outputs] if there are several segments */
} Run;

static CpuTotal combine(const State *state, CpuTotal a, CpuTotal b) {
    CpuTotal one = a;
    CpuTotal total = a;
    bool is_float = dtype_is_float(state->dtype), is_signed = dtype_is_signed(state->dtype);
    switch (state->reduction) {
    case CPU_REDUCE_SUM:
    case CPU_REDUCE_SUM_SQUARE:
    case CPU_REDUCE_SUM_ABS:
        if (is_float)
            total.f64 = one.f64 + b.f64;
        else
            total.u64 = one.u64 + b.u64;
        break;
    case CPU_REDUCE_PROD:
        if (is_float)
            total.f64 = one.f64 * b.f64;
        else
            total.u64 = one.u64 * b.u64;
        break;
    case CPU_REDUCE_MAX:
        if (is_float ? b.f64 > one.f64 || b.f64 != b.f64
                     : (is_signed ? b.i64 > one.i64 : b.u64 > one.u64))
            total = b;
        break;
    case CPU_REDUCE_MIN:
        if (is_float ? b.f64 < one.f64 || b.f64 != b.f64
                     : (is_signed ? b.i64 < one.i64 : b.u64 < one.u64))
            total = b;
        break;
    case CPU_REDUCTION_COUNT:
        break;
    }
    return total;
}

static double finish_float(const State *state, double total) {
    if (state->operator_id == OPERATOR_REDUCE_MEAN) total /= state->count;
    if (state->operator_id == OPERATOR_REDUCE_L2) total = sqrt(total);
    if (state->operator_id == OPERATOR_REDUCE_LOG_SUM) total = scalar_log_f64(total);
    return scalar_canonical_f64(total);
}

/* Means of integers are truncated; L2 of integers is the truncated root of the wrapped sum. */
static uint64_t finish_integer(const State *state, CpuTotal total) {
    bool is_signed = dtype_is_signed(state->dtype);
    if (state->operator_id == OPERATOR_REDUCE_MEAN && state->count > 0) {
        uint64_t count = (uint64_t)state->count;
        if (is_signed) return (uint64_t)(total.i64 / (int64_t)count);
        return total.u64 / count;
    }
    if (state->operator_id == OPERATOR_REDUCE_L2)
        return (uint64_t)sqrt(is_signed && total.i64 > 0 ? (double)total.i64
                              : is_signed                ? 0.0
                                                         : (double)total.u64);
    return total.u64;
}

/* finish_float for many outputs: loops without a choice for each become vectors. */
static void finish_float32(
    const State *state, float *restrict to, const CpuTotal *restrict totals, int64_t count) {
    if (state->operator_id == OPERATOR_REDUCE_MEAN)
        for (int64_t i = 0; i < count; i++)
            to[i] = (float)scalar_canonical_f64(totals[i].f64 / state->count);
    else if (state->operator_id == OPERATOR_REDUCE_L2)
        for (int64_t i = 0; i < count; i++)
            to[i] = (float)scalar_canonical_f64(sqrt(totals[i].f64));
    else if (state->operator_id == OPERATOR_REDUCE_LOG_SUM)
        for (int64_t i = 0; i < count; i++) to[i] = (float)finish_float(state, totals[i].f64);
    else
        for (int64_t i = 0; i < count; i++) to[i] = (float)scalar_canonical_f64(totals[i].f64);
}

/* Writes outputs [begin, begin + count). */
static void finish(
    const State *state, char *to, int64_t begin, const CpuTotal *totals, int64_t count) {
    if (state->dtype == DTYPE_FLOAT32) {
        finish_float32(state, (float *)(void *)to + begin, totals, count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        char *out = to + (begin + i) * state->size;
        if (dtype_is_integer(state->dtype) || state->dtype == DTYPE_BOOL) {
            uint64_t value = finish_integer(state, totals[i]);
            if (state->dtype == DTYPE_BOOL) value = value != 0;
            memcpy(out, &value, state->size); /* little-endian: the low bytes */
            continue;
        }
        double value = finish_float(state, totals[i].f64);
        uint16_t half = state->dtype == DTYPE_FLOAT16
                            ? scalar_narrow_float16(scalar_narrow_to_odd(value))
                            : scalar_narrow_bfloat16(scalar_narrow_to_odd(value));
        const void *bytes = state->size == 2 ? (const void *)&half : (const void *)&value;
        memcpy(out, bytes, state->size);
    }
}

/* Reduces one chunk of outputs in one segment. */
static void run_unit(const Run *run, uint64_t unit) {
    const State *state = run->state;
    CpuTotal totals[CHUNK];
    int64_t segment = (int64_t)(unit / state->chunks), chunk = (int64_t)(unit % state->chunks);
    int64_t per_outer = (state->groups.width + CHUNK - 1) / CHUNK;
    int64_t outer = chunk / per_outer, column = chunk % per_outer * CHUNK;
    int64_t count = state->groups.width - column < CHUNK ? state->groups.width - column : CHUNK;
    int64_t from = segment * state->segment;
    int64_t length =
        state->groups.length - from < state->segment ? state->groups.length - from : state->segment;
    int64_t base = reduce_groups_walk(
        state->groups.kept_rank, state->groups.kept_dims, state->groups.kept_strides, outer);
    for (int64_t i = 0; i < count; i++) totals[i] = state->identity;
    KernelStopMeter meter = {0};
    for (int64_t repeat = 0; length > 0 && repeat < state->groups.repeats; repeat++) {
        int64_t offset =
            base + reduce_groups_walk(state->groups.reduced_rank, state->groups.reduced_dims,
                       state->groups.reduced_strides, repeat);
        offset += state->groups.columns ? from * state->groups.stride + column
                                        : column * state->groups.stride + from;
        const char *x = run->from + offset * state->size;
        if (kernel_stop_ends_after(&meter, (uint64_t)(count * length))) return;
        if (state->groups.columns)
            state->reducer->columns(totals, x, count, length, state->groups.stride);
        else
            state->reducer->rows(totals, x, count, length, state->groups.stride);
    }
    int64_t output = outer * state->groups.width + column;
    if (state->segments == 1)
        finish(state, run->to, output, totals, count);
    else
        memcpy(run->partial + segment * state->groups.outputs + output, totals,
            (size_t)count * sizeof(CpuTotal));
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    for (uint64_t unit = begin; unit < end; unit++) run_unit(context, unit);
    return NULL;
}

static Error *launch_reduce(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {state, cpu_input(launch, 0), cpu_output(launch, 0), cpu_workspace(launch)};
    (void)output_shapes;
    if (state->units <= state->units_per_part_min)
        TRY(run_units(&run, 0, state->units, 0));
    else
        TRY(cpu_for_each(cpu_device(plan->device), launch->threads, state->units,
            state->units_per_part_min, run_units, &run));
    if (state->segments == 1) return NULL;
    KernelStopMeter meter = {0};
    for (int64_t output = 0; output < state->groups.outputs; output++) {
        TRY(kernel_stop_count(&meter, (uint64_t)state->segments));
        CpuTotal total = run.partial[output];
        for (int64_t segment = 1; segment < state->segments; segment++)
            total = combine(state, total, run.partial[segment * state->groups.outputs + output]);
        finish(state, run.to, output, &total, 1);
    }
    return NULL;
}

static void place_units(State *state) {
    state->segment = state->groups.columns ? COLUMN_SEGMENT : SEGMENT;
    state->segments = (state->groups.length + state->segment - 1) / state->segment;
    if (state->segments < 1) state->segments = 1;
    int64_t per_outer = (state->groups.width + CHUNK - 1) / CHUNK;
    state->chunks = (uint64_t)(state->groups.outer * per_outer);
    state->units = state->chunks * (uint64_t)state->segments;
    int64_t length = state->groups.length < state->segment ? state->groups.length : state->segment;
    int64_t wide = state->groups.width < CHUNK ? state->groups.width : CHUNK;
    uint64_t elements = (uint64_t)(length * wide) * (uint64_t)state->groups.repeats;
    state->units_per_part_min = ELEMENTS_PER_PART / (elements ? elements : 1) + 1;
}

static CpuReduction reduction_of(OperatorId id) {
    if (id == OPERATOR_REDUCE_MAX) return CPU_REDUCE_MAX;
    if (id == OPERATOR_REDUCE_MIN) return CPU_REDUCE_MIN;
    if (id == OPERATOR_REDUCE_PROD) return CPU_REDUCE_PROD;
    if (id == OPERATOR_REDUCE_L1) return CPU_REDUCE_SUM_ABS;
    if (id == OPERATOR_REDUCE_L2 || id == OPERATOR_REDUCE_SUM_SQUARE) return CPU_REDUCE_SUM_SQUARE;
    return CPU_REDUCE_SUM;
}

static Error *plan_reduce(Device *device, const PlanRequest *request, Plan **out) {
    ReduceArguments arguments;
    TRY(arguments_reduce(request, &arguments));
    const TensorSpec *input = &request->inputs[0];
    CpuReduction reduction = reduction_of(request->operator_info->id);
    const CpuReducer *reducer =
        cpu_reducer_find(cpu_device(device)->level, reduction, input->dtype);
    if (!reducer) return cpu_decline(out);
    TRY(plan_create(device, request, "cpu.reduce", sizeof(State), out));
    State *state = plan_state(*out);
    state->reducer = reducer;
    state->reduction = reduction;
    state->operator_id = request->operator_info->id;
    state->dtype = input->dtype;
    state->size = dtype_bits(input->dtype) / 8;
    reduce_groups_make(&input->shape, arguments.reduced, &state->groups);
    place_units(state);
    state->count = (double)state->groups.length * (double)state->groups.repeats;
    state->identity =
        cpu_reducer_identity(reducer, reduction, input->dtype, state->count > 0 ? 1 : 0);
    if (state->groups.outputs > 0 && state->segments > 1)
        (*out)->workspace_bytes =
            (uint64_t)state->groups.outputs * (uint64_t)state->segments * sizeof(CpuTotal);
    (*out)->launch = launch_reduce;
    return NULL;
}

#define EXTREME (DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL))
const Kernel cpu_reduce[] = {
    {OPERATOR_REDUCE_SUM, DTYPES_NUMBER, plan_reduce, "cpu.reduce", KERNEL_PORTABLE},
    {OPERATOR_REDUCE_MEAN, DTYPES_NUMBER, plan_reduce, "cpu.reduce", KERNEL_PORTABLE},
    {OPERATOR_REDUCE_MAX, EXTREME, plan_reduce, "cpu.reduce", KERNEL_PORTABLE},
    {OPERATOR_REDUCE_MIN, EXTREME, plan_reduce, "cpu.reduce", KERNEL_PORTABLE},
    {OPERATOR_REDUCE_PROD, DTYPES_NUMBER, plan_reduce, "cpu.reduce", KERNEL_PORTABLE},
    {OPERATOR_REDUCE_L1, DTYPES_NUMBER, plan_reduce, "cpu.reduce", KERNEL_PORTABLE},
    {OPERATOR_REDUCE_L2, DTYPES_NUMBER, plan_reduce, "cpu.reduce", KERNEL_PORTABLE},
    {OPERATOR_REDUCE_SUM_SQUARE, DTYPES_NUMBER, plan_reduce, "cpu.reduce", KERNEL_PORTABLE},
    {OPERATOR_REDUCE_LOG_SUM, DTYPES_FLOAT, plan_reduce, "cpu.reduce", KERNEL_PORTABLE},
    KERNELS_END,
};
