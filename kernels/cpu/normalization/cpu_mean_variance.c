/* MeanVarianceNormalization: all elements that differ along some axes only are normalized to mean 0
 * and variance 1. Sums are kept in float64. */
#include <math.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/core/cpu_groups.h"
#include "kernels/scalar/scalar_base.h"
#include "kernels/arguments/arguments.h"

enum { ELEMENTS_PER_PART = 16384 };

static const double EPSILON = 1e-9; /* ONNX's: added to the deviation */

typedef struct State {
    ReduceGroups groups;
    bool wide; /* true: float64, false: float32 */
} State;

typedef struct Run {
    const State *state;
    const void *from;
    void *to;
} Run;

#define MEAN_VARIANCE(name, T, s)                                                                  \
    static void run_chunk_##name(const CpuGroupChunk *chunk, double count, const T *x, T *y) {     \
        double mean[CPU_GROUP_CHUNK] = {0}, spread[CPU_GROUP_CHUNK] = {0};                         \
        CPU_GROUP_EACH(chunk, i, at, mean[i] += (double)x[at]);                                    \
        for (int64_t i = 0; i < chunk->count; i++) mean[i] /= count;                               \
        CPU_GROUP_EACH(chunk, i, at, {                                                             \
            const double off = (double)x[at] - mean[i];                                            \
            spread[i] += off * off;                                                                \
        });                                                                                        \
        for (int64_t i = 0; i < chunk->count; i++) spread[i] = sqrt(spread[i] / count) + EPSILON;  \
        CPU_GROUP_EACH(chunk, i, at,                                                               \
            y[at] = scalar_canonical_##s((T)(((double)x[at] - mean[i]) / spread[i])));             \
    }
MEAN_VARIANCE(float32, float, f32)
MEAN_VARIANCE(float64, double, f64)

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const ReduceGroups *groups = &run->state->groups;
    const double count = (double)(groups->repeats * groups->length);
    (void)part;
    for (uint64_t unit = begin; unit < end; unit++) {
        const CpuGroupChunk chunk = cpu_group_chunk(groups, unit);
        if (run->state->wide)
            run_chunk_float64(&chunk, count, run->from, run->to);
        else
            run_chunk_float32(&chunk, count, run->from, run->to);
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const State *state = opaque;
    Run run = {state, call->inputs[0], call->outputs[0]};
    const int64_t elements = cpu_group_elements(&state->groups);
    if (elements == 0) return NULL; /* groups of nothing cost no memory: any number */
    return cpu_for_each(call->device, call->launch->threads, cpu_group_chunks(&state->groups),
        (uint64_t)(ELEMENTS_PER_PART / elements) + 1, run_units, &run);
}

static Error *plan_mean_variance(Device *device, const PlanRequest *request, Plan **out) {
    bool reduced[SHAPE_RANK_MAX];
    void *opaque;
    TRY(arguments_axes(request, reduced));
    TRY(cpu_float_plan_create(
        device, request, "cpu.mean_variance", sizeof(State), run, out, &opaque));
    State *state = opaque;
    reduce_groups_make(&request->inputs[0].shape, reduced, &state->groups);
    state->wide = request->inputs[0].dtype == DTYPE_FLOAT64;
    return NULL;
}

const Kernel cpu_mean_variance[] = {
    {OPERATOR_MEAN_VARIANCE_NORMALIZATION, DTYPES_FLOAT, plan_mean_variance, "cpu.mean_variance",
        KERNEL_PORTABLE},
    KERNELS_END,
};
