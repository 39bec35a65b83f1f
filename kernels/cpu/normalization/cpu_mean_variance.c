/* MeanVarianceNormalization: all elements that differ along some axes only are normalized to mean 0
 * and variance 1. Sums are kept in float64. */
#include <math.h>

#include "kernels/cpu/normalization/cpu_group_plan.h"
#include "kernels/scalar/scalar_base.h"
#include "kernels/arguments/arguments.h"

static const double EPSILON = 1e-9; /* ONNX's: added to the deviation */

#define MEAN_VARIANCE(name, T, s)                                                                  \
    static void run_chunk_##name(const CpuGroupChunk *chunk, const void *from, void *to) {         \
        const double count = (double)(chunk->groups->repeats * chunk->groups->length);             \
        const T *x = from;                                                                         \
        T *y = to;                                                                                 \
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

static Error *plan_mean_variance(Device *device, const PlanRequest *request, Plan **out) {
    bool reduced[SHAPE_RANK_MAX];
    TRY(arguments_axes(request, reduced));
    return cpu_group_plan_create(
        device, request, "cpu.mean_variance", reduced, run_chunk_float32, run_chunk_float64, out);
}

const Kernel cpu_mean_variance[] = {
    {OPERATOR_MEAN_VARIANCE_NORMALIZATION, DTYPES_FLOAT, plan_mean_variance, "cpu.mean_variance",
        KERNEL_PORTABLE},
    KERNELS_END,
};
