#include "kernels/cpu/elementwise/cpu_small.h"

#include <string.h>

#include "kernels/tensor/dtype_bits.h"
#include "kernels/tensor/dtype_scalar.h"
#include "kernels/scalar/scalar_convert.h"
#include "kernels/scalar/scalar_float8.h"
#include "kernels/scalar/scalar_small_float.h"
#include "kernels/scalar/scalar_float.h"

void cpu_widen_init(DType dtype, CpuWiden *out) {
    *out = (CpuWiden){.dtype = dtype, .bits = dtype_bits(dtype)};
    for (uint32_t code = 0; out->bits <= 8 && code < 1u << out->bits; code++)
        out->table[code] = (float)dtype_scalar_from_code(dtype, (uint8_t)code);
}

static void widen_bytes(const float *table, const uint8_t *from, uint64_t count, float *out) {
    for (uint64_t i = 0; i < count; i++) out[i] = table[from[i]];
}

static void widen_packed(
    const CpuWiden *widen, const void *data, uint64_t first, uint64_t count, float *out) {
    uint8_t codes[CPU_SMALL_RUN];
    dtype_bits_unpack(widen->bits, data, first, count, codes);
    widen_bytes(widen->table, codes, count, out);
}

static void widen_16(DType dtype, const uint16_t *from, uint64_t count, float *out) {
    if (dtype == DTYPE_FLOAT16)
        for (uint64_t i = 0; i < count; i++) out[i] = scalar_widen_float16(from[i]);
    else if (dtype == DTYPE_BFLOAT16)
        for (uint64_t i = 0; i < count; i++) out[i] = scalar_widen_bfloat16(from[i]);
    else if (dtype == DTYPE_INT16)
        for (uint64_t i = 0; i < count; i++) out[i] = (float)(int16_t)from[i];
    else
        for (uint64_t i = 0; i < count; i++) out[i] = (float)from[i];
}

void cpu_widen_run(
    const CpuWiden *widen, const void *data, uint64_t first, uint64_t count, float *out) {
    if (widen->bits < 8) {
        widen_packed(widen, data, first, count, out);
    } else if (widen->bits == 8) {
        widen_bytes(widen->table, (const uint8_t *)data + first, count, out);
    } else if (widen->bits == 16) {
        widen_16(widen->dtype, (const uint16_t *)data + first, count, out);
    } else if (widen->dtype == DTYPE_FLOAT32) {
        memcpy(out, (const float *)data + first, count * sizeof *out);
    } else {
        const int32_t *from = (const int32_t *)data + first;
        for (uint64_t i = 0; i < count; i++) out[i] = (float)from[i];
    }
}

float cpu_widen_one(const CpuWiden *widen, const void *data, uint64_t index) {
    float value;
    cpu_widen_run(widen, data, index, 1, &value);
    return value;
}

void cpu_small_round(DType dtype, float *values, uint64_t count) {
    if (dtype == DTYPE_FLOAT16)
        for (uint64_t i = 0; i < count; i++)
            values[i] = scalar_widen_float16(scalar_narrow_float16(values[i]));
    if (dtype == DTYPE_BFLOAT16)
        for (uint64_t i = 0; i < count; i++)
            values[i] = scalar_widen_bfloat16(scalar_narrow_bfloat16(values[i]));
}

void cpu_small_write_codes(
    uint32_t bits, const uint8_t *codes, void *data, uint64_t first, uint64_t count) {
    if (bits == 8)
        memcpy((uint8_t *)data + first, codes, count);
    else
        dtype_bits_pack(bits, codes, first, count, data);
}

static void narrow_integers(
    DType dtype, const float *values, void *data, uint64_t first, uint64_t count) {
    const uint32_t bits = dtype_bits(dtype);
    const float half = (float)(1u << (bits - 1));
    const float low = dtype_is_signed(dtype) ? -half : 0;
    const float high = dtype_is_signed(dtype) ? half - 1 : 2 * half - 1;
    int32_t whole[CPU_SMALL_RUN];
    for (uint64_t i = 0; i < count; i++) {
        float x = values[i] != values[i] ? 0 : values[i];
        x = x < low ? low : x;
        whole[i] = (int32_t)scalar_round_f32(x > high ? high : x);
    }
    if (bits == 16) {
        uint16_t *to = (uint16_t *)data + first;
        for (uint64_t i = 0; i < count; i++) to[i] = (uint16_t)whole[i];
        return;
    }
    uint8_t codes[CPU_SMALL_RUN];
    for (uint64_t i = 0; i < count; i++) codes[i] = (uint8_t)whole[i];
    cpu_small_write_codes(bits, codes, data, first, count);
}

static ScalarFloat8 float8_form(DType dtype) {
    if (dtype == DTYPE_FLOAT8E4M3FN) return SCALAR_E4M3FN;
    if (dtype == DTYPE_FLOAT8E4M3FNUZ) return SCALAR_E4M3FNUZ;
    return dtype == DTYPE_FLOAT8E5M2 ? SCALAR_E5M2 : SCALAR_E5M2FNUZ;
}

static void narrow_small_floats(
    DType dtype, bool saturate, const float *values, void *data, uint64_t first, uint64_t count) {
    uint8_t codes[CPU_SMALL_RUN];
    if (dtype_in(DTYPES_FLOAT8, dtype)) {
        const ScalarFloat8 form = float8_form(dtype);
        for (uint64_t i = 0; i < count; i++)
            codes[i] = scalar_narrow_float8(form, (double)values[i], saturate);
    } else {
        for (uint64_t i = 0; i < count; i++)
            codes[i] = dtype_scalar_to_code(dtype, (double)values[i]);
    }
    cpu_small_write_codes(dtype_bits(dtype), codes, data, first, count);
}

void cpu_small_narrow(
    DType dtype, bool saturate, const float *values, void *data, uint64_t first, uint64_t count) {
    uint16_t *halves = (uint16_t *)data + first;
    if (dtype == DTYPE_FLOAT32)
        memcpy((float *)data + first, values, count * sizeof *values);
    else if (dtype == DTYPE_FLOAT16)
        for (uint64_t i = 0; i < count; i++) halves[i] = scalar_narrow_float16(values[i]);
    else if (dtype == DTYPE_BFLOAT16)
        for (uint64_t i = 0; i < count; i++) halves[i] = scalar_narrow_bfloat16(values[i]);
    else if (dtype_is_integer(dtype))
        narrow_integers(dtype, values, data, first, count);
    else
        narrow_small_floats(dtype, saturate, values, data, first, count);
}
