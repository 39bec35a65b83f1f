/* ReduceLogSumExp: the largest element is found first and subtracted, so that no term overflows. */
#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/cpu/normalization/cpu_group_plan.h"
#include "kernels/scalar/scalar_exponential.h"
#include "kernels/arguments/arguments.h"

enum { TERMS_MAX = 512 }; /* of a chunk whose exponentials one loop takes, with the same bits */

/* Sums are kept in float64. The log-sum-exp of no elements is minus infinity; an infinity or a NaN
 * among the elements is the result. */
#define LOG_SUM_EXP(name, dtype, T, s)                                                             \
    static void run_chunk_##name(const CpuGroupChunk *chunk, const void *from, void *to) {         \
        const T *x = from;                                                                         \
        T *y = to;                                                                                 \
        T most[CPU_GROUP_CHUNK];                                                                   \
        double sums[CPU_GROUP_CHUNK] = {0};                                                        \
        const CpuOperand sum = {sums, 1};                                                          \
        const CpuParameters none = {0};                                                            \
        const int64_t elements = chunk->groups->repeats * chunk->groups->length * chunk->count;    \
        for (int64_t i = 0; i < chunk->count; i++) most[i] = -scalar_infinity_##s();               \
        CPU_GROUP_EACH(                                                                            \
            chunk, i, at, most[i] = x[at] > most[i] || x[at] != x[at] ? x[at] : most[i]);          \
        if (elements <= TERMS_MAX) {                                                               \
            T terms[TERMS_MAX];                                                                    \
            const CpuOperand all = {terms, 1};                                                     \
            int64_t n = 0;                                                                         \
            CPU_GROUP_EACH(chunk, i, at, terms[n++] = x[at] - most[i]);                            \
            if (n > 0) cpu_loop_find(chunk->level, CPU_LOOP_EXP, dtype)(terms, &all, n, &none);    \
            n = 0;                                                                                 \
            CPU_GROUP_EACH(chunk, i, at, ((void)at, sums[i] += (double)terms[n++]));               \
        } else                                                                                     \
            CPU_GROUP_EACH(chunk, i, at, sums[i] += (double)scalar_exp_##s(x[at] - most[i]));      \
        cpu_loop_find(chunk->level, CPU_LOOP_LOG, DTYPE_FLOAT64)(sums, &sum, chunk->count, &none); \
        for (int64_t i = 0; i < chunk->count; i++) {                                               \
            const int finite = scalar_abs_##s(most[i]) < scalar_infinity_##s();                    \
            const double total = (double)most[i] + (finite ? sums[i] : 0);                         \
            y[chunk->output + i] = scalar_canonical_##s((T)total);                                 \
        }                                                                                          \
    }
LOG_SUM_EXP(float32, DTYPE_FLOAT32, float, f32)
LOG_SUM_EXP(float64, DTYPE_FLOAT64, double, f64)

static Error *plan_log_sum_exp(Device *device, const PlanRequest *request, Plan **out) {
    ReduceArguments arguments;
    TRY(arguments_reduce(request, &arguments));
    return cpu_group_plan_create(device, request, "cpu.log_sum_exp", arguments.reduced,
        run_chunk_float32, run_chunk_float64, out);
}

const Kernel cpu_log_sum_exp[] = {
    {OPERATOR_REDUCE_LOG_SUM_EXP, DTYPES_FLOAT, plan_log_sum_exp, "cpu.log_sum_exp",
        KERNEL_PORTABLE},
    KERNELS_END,
};
