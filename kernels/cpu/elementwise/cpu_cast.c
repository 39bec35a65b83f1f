/* Cast and CastLike from and to the types that elementwise programs lack: packed types and
 * FLOAT8E8M0. Runs of elements are widened to a type that the loops have, go through the loops of a
 * plain cast, and are narrowed. */
#include <string.h>

#include "kernels/cpu/elementwise/cpu_pointwise.h"
#include "kernels/cpu/elementwise/cpu_small.h"
#include "kernels/tensor/dtype_bits.h"
#include "kernels/scalar/scalar_small_float.h"

enum {
    LOOPS_MAX = 4,
    WIDE_SIZE = 8, /* bytes of the widest element */
    RUNS_PER_PART = 16,
};

typedef struct State {
    DType from, to;
    uint32_t from_bits, to_bits;
    bool saturate;
    ScalarRoundMode mode;
    uint64_t count;
    CpuWiden widen;
    uint32_t loop_count;
    CpuLoop *loops[LOOPS_MAX];
} State;

typedef struct Run {
    const State *state;
    const void *from;
    void *to;
} Run;

/* The element types between which the loops cast. Narrow integers are cut from int32, so they wrap
 * as casts between integers do; a float's fraction is dropped first. */
static DType loops_from(DType from) {
    if (dtype_in(DTYPES_PACKED_FLOAT, from) || from == DTYPE_FLOAT8E8M0) return DTYPE_FLOAT32;
    if (dtype_in(DTYPES_PACKED_INTEGER, from))
        return dtype_is_signed(from) ? DTYPE_INT8 : DTYPE_UINT8;
    return from;
}
static DType loops_to(DType to) {
    if (dtype_in(DTYPES_PACKED_FLOAT, to) || to == DTYPE_FLOAT8E8M0) return DTYPE_FLOAT64;
    return dtype_in(DTYPES_PACKED_INTEGER, to) ? DTYPE_INT32 : to;
}

static void widen(const State *state, const void *from, uint64_t first, uint64_t count, void *out) {
    if (!dtype_in(DTYPES_PACKED_INTEGER, state->from)) {
        cpu_widen_run(&state->widen, from, first, count, out);
        return;
    }
    uint8_t *codes = out;
    const uint32_t sign = dtype_is_signed(state->from) ? 1u << (state->from_bits - 1) : 0;
    dtype_bits_unpack(state->from_bits, from, first, count, codes);
    for (uint64_t i = 0; i < count; i++) codes[i] = (uint8_t)((codes[i] ^ sign) - sign);
}

static ScalarSmallFloat small_form(DType dtype) {
    if (dtype == DTYPE_FLOAT4E2M1) return SCALAR_E2M1;
    return dtype == DTYPE_FLOAT6E2M3 ? SCALAR_E2M3 : SCALAR_E3M2;
}

static void narrow(
    const State *state, const void *values, void *to, uint64_t first, uint64_t count) {
    uint8_t codes[CPU_SMALL_RUN];
    const double *reals = values;
    const int32_t *integers = values;
    const ScalarSmallFloat form = small_form(state->to);
    if (dtype_in(DTYPES_PACKED_INTEGER, state->to))
        for (uint64_t i = 0; i < count; i++) codes[i] = (uint8_t)integers[i];
    else if (state->to == DTYPE_FLOAT8E8M0)
        for (uint64_t i = 0; i < count; i++)
            codes[i] = scalar_narrow_e8m0(reals[i], state->mode, state->saturate);
    else
        for (uint64_t i = 0; i < count; i++) codes[i] = scalar_narrow_small(form, reals[i]);
    cpu_small_write_codes(state->to_bits, codes, to, first, count);
}

static void cast_run(const Run *run, uint64_t first, uint64_t count) {
    const State *state = run->state;
    _Alignas(64) char buffers[2][CPU_SMALL_RUN * WIDE_SIZE];
    const bool is_widened = loops_from(state->from) != state->from;
    const bool is_narrowed = loops_to(state->to) != state->to;
    const void *at = (const char *)run->from + first * state->from_bits / 8;
    uint32_t next = 0;
    if (is_widened) {
        widen(state, run->from, first, count, buffers[0]);
        at = buffers[next++];
    }
    for (uint32_t i = 0; i < state->loop_count; i++) {
        const bool last = i + 1 == state->loop_count && !is_narrowed;
        void *out = last ? (char *)run->to + first * state->to_bits / 8 : buffers[next++ % 2];
        const CpuOperand operand = {at, 1};
        state->loops[i](out, &operand, (int64_t)count, NULL);
        at = out;
    }
    if (is_narrowed)
        narrow(state, at, run->to, first, count);
    else if (state->loop_count == 0)
        memcpy((char *)run->to + first * state->to_bits / 8, at, count * state->to_bits / 8);
}

static Error *cast_runs(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    (void)part;
    for (uint64_t i = begin; i < end; i++) {
        const uint64_t first = i * CPU_SMALL_RUN, left = run->state->count - first;
        cast_run(run, first, left < CPU_SMALL_RUN ? left : CPU_SMALL_RUN);
    }
    return NULL;
}

static Error *launch_cast(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {state, cpu_input(launch, 0), cpu_output(launch, 0)};
    (void)output_shapes;
    return cpu_for_each(cpu_device(plan->device), launch->threads,
        (state->count + CPU_SMALL_RUN - 1) / CPU_SMALL_RUN, RUNS_PER_PART, cast_runs, &run);
}

/* Finds the loops of a plain cast, which run one after the other. *out false: there are none. */
static Error *find_loops(CpuLevel level, const PlanRequest *request, State *state, bool *out) {
    const DType from = loops_from(state->from), to = loops_to(state->to);
    OWN(CpuPointwise, program) = NULL;
    *out = true;
    if (from == to) return NULL;
    TRY(cpu_pointwise_create(level, &program));
    const CpuSource source = {CPU_SOURCE_INPUT, 0, from};
    (void)cpu_pointwise_add_operator(program, OPERATOR_CAST, request->attributes, &source, 1, to);
    *out = !program->missing && program->step_count <= LOOPS_MAX;
    for (uint32_t i = 0; *out && i < program->step_count; i++)
        state->loops[state->loop_count++] = program->steps[i].loop;
    return NULL;
}

static Error *plan_cast(Device *device, const PlanRequest *request, Plan **out) {
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, "cpu.cast", sizeof(State), &plan));
    State *state = plan_state(plan);
    const char *mode = attributes_text(request->attributes, "round_mode");
    state->from = request->inputs[0].dtype;
    state->to = request->outputs[0].dtype;
    state->from_bits = dtype_bits(state->from);
    state->to_bits = dtype_bits(state->to);
    state->saturate = attributes_int(request->attributes, "saturate") != 0;
    state->mode = SCALAR_ROUND_UP;
    if (strcmp(mode, "down") == 0) state->mode = SCALAR_ROUND_DOWN;
    if (strcmp(mode, "nearest") == 0) state->mode = SCALAR_ROUND_NEAREST;
    state->count = (uint64_t)shape_count_unchecked(&request->inputs[0].shape);
    const bool by_table = state->from_bits < 8 || state->from == DTYPE_FLOAT8E8M0;
    if (by_table) cpu_widen_init(state->from, &state->widen);
    bool found;
    TRY(find_loops(cpu_device(device)->level, request, state, &found));
    if (!found) return cpu_decline(out);
    plan->launch = launch_cast;
    *out = TAKE(plan);
    return NULL;
}

const Kernel cpu_cast[] = {
    {OPERATOR_CAST, DTYPES_SIZED, plan_cast, "cpu.cast", KERNEL_PORTABLE},
    {OPERATOR_CAST_LIKE, DTYPES_SIZED, plan_cast, "cpu.cast", KERNEL_PORTABLE},
    KERNELS_END,
};
