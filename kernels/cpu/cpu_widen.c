#include "kernels/cpu/cpu_widen.h"

#include "kernels/cpu/cpu_vector.h"
#include "kernels/scalar/scalar_base.h"

/* Selections instead of branches, so that compilers turn the loops into vectors. */

CPU_INLINE float widen_float16(uint16_t half) {
    const uint32_t magnitude = half & 0x7fffu;
    /* the half's exponent read as a float's is 112 too low; subnormals come out right as well */
    const float scaled = scalar_make_f32(magnitude << 13) * 0x1p112f;
    const uint32_t special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
    return scalar_make_f32(scalar_bits_f32(scaled) | special | (uint32_t)(half & 0x8000u) << 16);
}

CPU_INLINE uint16_t narrow_float16(float value) {
    const uint32_t bits = scalar_bits_f32(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    /* 0.5 has the least half's spacing: the addition rounds */
    const uint32_t small = scalar_bits_f32(scalar_make_f32(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t half = magnitude < 0x38800000u ? small : normal;
    half = magnitude >= 0x477ff000u ? 0x7c00u : half;
    half = magnitude > 0x7f800000u ? 0x7e00u : half;
    return (uint16_t)(half | (bits >> 16 & 0x8000u));
}

CPU_INLINE float widen_bfloat16(uint16_t bits) { return scalar_make_f32((uint32_t)bits << 16); }

CPU_INLINE uint16_t narrow_bfloat16(float value) {
    const uint32_t bits = scalar_bits_f32(value);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    const uint32_t nan = (bits >> 16 & 0x8000u) | 0x7fc0u;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

CPU_INLINE void widen_body(DType dtype, const uint16_t *from, int64_t count, float *to) {
    if (dtype == DTYPE_FLOAT16)
        for (int64_t i = 0; i < count; i++) to[i] = widen_float16(from[i]);
    else
        for (int64_t i = 0; i < count; i++) to[i] = widen_bfloat16(from[i]);
}
CPU_VARIANTS(
    widen, (DType dtype, const uint16_t *from, int64_t count, float *to), (dtype, from, count, to));

CPU_INLINE void narrow_body(DType dtype, const float *from, int64_t count, uint16_t *to) {
    if (dtype == DTYPE_FLOAT16)
        for (int64_t i = 0; i < count; i++) to[i] = narrow_float16(from[i]);
    else
        for (int64_t i = 0; i < count; i++) to[i] = narrow_bfloat16(from[i]);
}
CPU_VARIANTS(narrow, (DType dtype, const float *from, int64_t count, uint16_t *to),
    (dtype, from, count, to));

typedef struct WidenRun {
    CpuLevel level;
    DType dtype;
    const void *from;
    void *to;
} WidenRun;

enum { ELEMENTS_PER_PART = 65536 };

static Error *widen_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const WidenRun *run = context;
    widen_for(run->level)(run->dtype, (const uint16_t *)run->from + begin, (int64_t)(end - begin),
        (float *)run->to + begin);
    return NULL;
}

static Error *narrow_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const WidenRun *run = context;
    narrow_for(run->level)(run->dtype, (const float *)run->from + begin, (int64_t)(end - begin),
        (uint16_t *)run->to + begin);
    return NULL;
}

Error *cpu_widen(
    CpuDevice *device, uint32_t threads, DType dtype, const void *from, int64_t count, float *to) {
    WidenRun run = {device->level, dtype, from, to};
    return cpu_for_each(device, threads, (uint64_t)count, ELEMENTS_PER_PART, widen_units, &run);
}

Error *cpu_narrow(
    CpuDevice *device, uint32_t threads, DType dtype, const float *from, int64_t count, void *to) {
    WidenRun run = {device->level, dtype, from, to};
    return cpu_for_each(device, threads, (uint64_t)count, ELEMENTS_PER_PART, narrow_units, &run);
}

float cpu_widen_one(DType dtype, uint16_t bits) {
    return dtype == DTYPE_FLOAT16 ? widen_float16(bits) : widen_bfloat16(bits);
}

uint16_t cpu_narrow_one(DType dtype, float value) {
    return dtype == DTYPE_FLOAT16 ? narrow_float16(value) : narrow_bfloat16(value);
}
