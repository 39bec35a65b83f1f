/* ReduceLogSumExp: the largest element is found first and subtracted, so that no term overflows. */
#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/core/cpu_groups.h"
#include "kernels/scalar/scalar_exponential.h"
#include "kernels/arguments/arguments.h"

enum { ELEMENTS_PER_PART = 16384 };

typedef struct State {
    ReduceGroups groups;
    bool wide; /* true: float64, false: float32 */
} State;

typedef struct Run {
    const State *state;
    const void *from;
    void *to;
} Run;

/* Sums are kept in float64. The log-sum-exp of no elements is minus infinity; an infinity or a NaN
 * among the elements is the result. */
#define LOG_SUM_EXP(name, T, s)                                                                    \
    static void run_chunk_##name(const CpuGroupChunk *chunk, const T *x, T *y) {                   \
        T most[CPU_GROUP_CHUNK];                                                                   \
        double sums[CPU_GROUP_CHUNK] = {0};                                                        \
        for (int64_t i = 0; i < chunk->count; i++) most[i] = -scalar_infinity_##s();               \
        CPU_GROUP_EACH(                                                                            \
            chunk, i, at, most[i] = x[at] > most[i] || x[at] != x[at] ? x[at] : most[i]);          \
        CPU_GROUP_EACH(chunk, i, at, sums[i] += (double)scalar_exp_##s(x[at] - most[i]));          \
        for (int64_t i = 0; i < chunk->count; i++) {                                               \
            const int finite = scalar_abs_##s(most[i]) < scalar_infinity_##s();                    \
            const double total = (double)most[i] + (finite ? scalar_log_f64(sums[i]) : 0);         \
            y[chunk->output + i] = scalar_canonical_##s((T)total);                                 \
        }                                                                                          \
    }
LOG_SUM_EXP(float32, float, f32)
LOG_SUM_EXP(float64, double, f64)

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    (void)part;
    for (uint64_t unit = begin; unit < end; unit++) {
        const CpuGroupChunk chunk = cpu_group_chunk(&run->state->groups, unit);
        if (run->state->wide)
            run_chunk_float64(&chunk, run->from, run->to);
        else
            run_chunk_float32(&chunk, run->from, run->to);
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const State *state = opaque;
    Run run = {state, call->inputs[0], call->outputs[0]};
    const int64_t elements = cpu_group_elements(&state->groups);
    return cpu_for_each(call->device, call->launch->threads, cpu_group_chunks(&state->groups),
        (uint64_t)(ELEMENTS_PER_PART / (elements + 1)) + 1, run_units, &run);
}

static Error *plan_log_sum_exp(Device *device, const PlanRequest *request, Plan **out) {
    ReduceArguments arguments;
    void *opaque;
    TRY(arguments_reduce(request, &arguments));
    TRY(cpu_float_plan_create(
        device, request, "cpu.log_sum_exp", sizeof(State), run, out, &opaque));
    State *state = opaque;
    reduce_groups_make(&request->inputs[0].shape, arguments.reduced, &state->groups);
    state->wide = request->inputs[0].dtype == DTYPE_FLOAT64;
    return NULL;
}

const Kernel cpu_log_sum_exp[] = {
    {OPERATOR_REDUCE_LOG_SUM_EXP, DTYPES_FLOAT, plan_log_sum_exp, "cpu.log_sum_exp",
        KERNEL_PORTABLE},
    KERNELS_END,
};
