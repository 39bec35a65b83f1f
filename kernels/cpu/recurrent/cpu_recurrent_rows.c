#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/recurrent/cpu_recurrent.h"

CPU_INLINE void add_rows_body(const float *a, const float *b, int64_t count, float *to) {
    for (int64_t i = 0; i < count; i++) to[i] = a[i] + b[i];
}
CPU_VARIANTS(
    add_rows, (const float *a, const float *b, int64_t count, float *to), (a, b, count, to));

CPU_INLINE void multiply_rows_body(const float *a, const float *b, int64_t count, float *to) {
    for (int64_t i = 0; i < count; i++) to[i] = a[i] * b[i];
}
CPU_VARIANTS(
    multiply_rows, (const float *a, const float *b, int64_t count, float *to), (a, b, count, to));

CPU_INLINE void multiply_add_rows_body(const float *a, const float *b, int64_t count, float *to) {
    for (int64_t i = 0; i < count; i++) to[i] = to[i] + a[i] * b[i];
}
CPU_VARIANTS(multiply_add_rows, (const float *a, const float *b, int64_t count, float *to),
    (a, b, count, to));

CPU_INLINE void combine_rows_body(
    const float *a, const float *b, const float *c, int64_t count, float *to) {
    for (int64_t i = 0; i < count; i++) to[i] = a[i] * to[i] + b[i] * c[i];
}
CPU_VARIANTS(combine_rows,
    (const float *a, const float *b, const float *c, int64_t count, float *to),
    (a, b, c, count, to));

CPU_INLINE void blend_rows_body(const float *a, const float *b, int64_t count, float *to) {
    for (int64_t i = 0; i < count; i++) to[i] = (1.0f - a[i]) * b[i] + a[i] * to[i];
}
CPU_VARIANTS(
    blend_rows, (const float *a, const float *b, int64_t count, float *to), (a, b, count, to));

CpuRecurrentRows cpu_recurrent_rows_for(CpuLevel level) {
    return (CpuRecurrentRows){add_rows_for(level), multiply_rows_for(level),
        multiply_add_rows_for(level), combine_rows_for(level), blend_rows_for(level)};
}
