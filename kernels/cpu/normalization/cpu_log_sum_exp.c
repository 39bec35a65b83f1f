/* ReduceLogSumExp: the largest element is found first and subtracted, so that no term overflows. */
#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/cpu/normalization/cpu_group_plan.h"
#include "kernels/scalar/scalar_exponential.h"
#include "kernels/arguments/arguments.h"

enum { TERMS_MAX = 512 }; /* whose exponentials one loop takes, with the bits of the functor */

/* Sums are kept in float64. The log-sum-exp of no elements is minus infinity; an infinity or a NaN
 * among the elements is the result. */
#define LOG_SUM_EXP(name, dtype, T, s)                                                             \
    typedef struct Terms_##name {                                                                  \
        CpuLoop *exp;                                                                              \
        int64_t count;                                                                             \
        T terms[TERMS_MAX];                                                                        \
        uint8_t outputs[TERMS_MAX]; /* of the chunk */                                             \
        double sums[CPU_GROUP_CHUNK];                                                              \
    } Terms_##name;                                                                                \
    static void add_##name(Terms_##name *terms) {                                                  \
        const CpuOperand all = {terms->terms, 1};                                                  \
        const CpuParameters none = {0};                                                            \
        if (terms->count > 0) terms->exp(terms->terms, &all, terms->count, &none);                 \
        for (int64_t i = 0; i < terms->count; i++)                                                 \
            terms->sums[terms->outputs[i]] += (double)terms->terms[i];                             \
        terms->count = 0;                                                                          \
    }                                                                                              \
    static inline void take_##name(Terms_##name *terms, int64_t output, T term) {                  \
        terms->terms[terms->count] = term;                                                         \
        terms->outputs[terms->count++] = (uint8_t)output;                                          \
        if (terms->count == TERMS_MAX) add_##name(terms);                                          \
    }                                                                                              \
    static void run_chunk_##name(const CpuGroupChunk *chunk, const void *from, void *to) {         \
        const T *x = from;                                                                         \
        T *y = to;                                                                                 \
        T most[CPU_GROUP_CHUNK];                                                                   \
        Terms_##name terms;                                                                        \
        const CpuOperand sum = {terms.sums, 1};                                                    \
        const CpuParameters none = {0};                                                            \
        terms.exp = cpu_loop_find(chunk->level, CPU_LOOP_EXP, dtype);                              \
        terms.count = 0;                                                                           \
        for (int64_t i = 0; i < chunk->count; i++) {                                               \
            most[i] = -scalar_infinity_##s();                                                      \
            terms.sums[i] = 0;                                                                     \
        }                                                                                          \
        CPU_GROUP_EACH(                                                                            \
            chunk, i, at, most[i] = x[at] > most[i] || x[at] != x[at] ? x[at] : most[i]);          \
        CPU_GROUP_EACH(chunk, i, at, take_##name(&terms, i, x[at] - most[i]));                     \
        add_##name(&terms);                                                                        \
        cpu_loop_find(chunk->level, CPU_LOOP_LOG, DTYPE_FLOAT64)(                                  \
            terms.sums, &sum, chunk->count, &none);                                                \
        for (int64_t i = 0; i < chunk->count; i++) {                                               \
            const int finite = scalar_abs_##s(most[i]) < scalar_infinity_##s();                    \
            const double total = (double)most[i] + (finite ? terms.sums[i] : 0);                   \
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
