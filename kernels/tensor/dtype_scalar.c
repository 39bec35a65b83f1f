#include "kernels/tensor/dtype_scalar.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/scalar/scalar_float8.h"
#include "kernels/scalar/scalar_small_float.h"

/* A double to a binary format of 16 bits: `mantissa` stored bits, exponents up to `bias`. */
static uint16_t narrow(double value, int mantissa, int bias) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    uint16_t infinity = (uint16_t)((2 * bias + 1) << mantissa);
    if (isnan(value)) return (uint16_t)(sign | infinity | (1 << (mantissa - 1)));
    double magnitude = fabs(value);
    if (magnitude == 0) return sign;
    if (isinf(value)) return (uint16_t)(sign | infinity);
    int exponent;
    (void)frexp(magnitude, &exponent);
    exponent--; /* magnitude = m * 2^exponent with 1 <= m < 2 */
    if (exponent > bias) return (uint16_t)(sign | infinity);
    if (exponent < 1 - bias) exponent = 1 - bias; /* subnormal */
    /* exact scaling, then one rounding to nearest even */
    double units = nearbyint(ldexp(magnitude, mantissa - exponent));
    /* a carry out of the mantissa moves to the exponent by itself, up to infinity */
    int64_t bits = (int64_t)units + ((int64_t)(exponent + bias - 1) << mantissa);
    return (uint16_t)(sign | (bits > infinity ? infinity : bits));
}

static double widen(uint16_t bits, int mantissa, int bias) {
    int exponent = (bits & 0x7FFF) >> mantissa, fraction = bits & ((1 << mantissa) - 1);
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 2 * bias + 1) return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, 1 - bias - mantissa);
    return sign * ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
}

uint16_t dtype_scalar_float16(double value) { return narrow(value, 10, 15); }
double dtype_scalar_from_float16(uint16_t bits) { return widen(bits, 10, 15); }
uint16_t dtype_scalar_bfloat16(double value) { return narrow(value, 7, 127); }
double dtype_scalar_from_bfloat16(uint16_t bits) { return widen(bits, 7, 127); }

/* Rounds and saturates into [low, high]; both ends must be exact doubles or lie beyond them. */
static double clamp(double value, double low, double high) {
    if (isnan(value)) return 0;
    value = nearbyint(value);
    return value < low ? low : value > high ? high : value;
}

static void write_integer(DType dtype, double value, void *out) {
    uint32_t size = dtype_bits(dtype) / 8;
    uint64_t bits;
    if (dtype_is_signed(dtype)) {
        double high = ldexp(1, (int)(size * 8 - 1));
        double kept = clamp(value, -high, high - 1);
        bits = kept >= 0x1p63 ? (uint64_t)INT64_MAX : (uint64_t)(int64_t)kept;
    } else {
        double high = ldexp(1, (int)(size * 8)) - 1;
        double kept = clamp(value, 0, high);
        bits = kept >= 0x1p64 ? UINT64_MAX : (uint64_t)kept;
    }
    memcpy(out, &bits, size); /* little-endian, as all of Layover */
}

static bool float8_form(DType dtype, ScalarFloat8 *out) {
    *out = SCALAR_E4M3FN;
    if (dtype == DTYPE_FLOAT8E4M3FNUZ) *out = SCALAR_E4M3FNUZ;
    if (dtype == DTYPE_FLOAT8E5M2) *out = SCALAR_E5M2;
    if (dtype == DTYPE_FLOAT8E5M2FNUZ) *out = SCALAR_E5M2FNUZ;
    return dtype_in(DTYPES_FLOAT8, dtype);
}

static ScalarSmallFloat small_form(DType dtype) {
    if (dtype == DTYPE_FLOAT4E2M1) return SCALAR_E2M1;
    return dtype == DTYPE_FLOAT6E2M3 ? SCALAR_E2M3 : SCALAR_E3M2;
}

uint8_t dtype_scalar_to_code(DType dtype, double value) {
    ScalarFloat8 form;
    if (float8_form(dtype, &form)) return scalar_narrow_float8(form, value, 1);
    if (dtype == DTYPE_FLOAT8E8M0) return scalar_narrow_e8m0(value, SCALAR_ROUND_NEAREST, 1);
    if (dtype_in(DTYPES_PACKED_FLOAT, dtype)) return scalar_narrow_small(small_form(dtype), value);
    const uint32_t bits = dtype_bits(dtype);
    const double half = (double)(1u << (bits - 1));
    const double kept =
        dtype_is_signed(dtype) ? clamp(value, -half, half - 1) : clamp(value, 0, 2 * half - 1);
    return (uint8_t)((uint32_t)(int32_t)kept & ((1u << bits) - 1));
}

double dtype_scalar_from_code(DType dtype, uint8_t code) {
    ScalarFloat8 form;
    if (float8_form(dtype, &form)) return scalar_widen_float8(form, code);
    if (dtype == DTYPE_FLOAT8E8M0) return scalar_widen_e8m0(code);
    if (dtype_in(DTYPES_PACKED_FLOAT, dtype)) return scalar_widen_small(small_form(dtype), code);
    const int32_t half = 1 << (dtype_bits(dtype) - 1);
    return dtype_is_signed(dtype) && code >= half ? code - 2 * half : code;
}

bool dtype_scalar_write(DType dtype, double value, void *out) {
    if (dtype_is_integer(dtype) && dtype_bits(dtype) >= 8) {
        write_integer(dtype, value, out);
        return true;
    }
    if (dtype == DTYPE_BOOL) {
        *(uint8_t *)out = value != 0;
    } else if (dtype == DTYPE_FLOAT32) {
        float narrow_value = (float)value;
        memcpy(out, &narrow_value, sizeof narrow_value);
    } else if (dtype == DTYPE_FLOAT64) {
        memcpy(out, &value, sizeof value);
    } else if (dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16) {
        uint16_t bits =
            dtype == DTYPE_FLOAT16 ? dtype_scalar_float16(value) : dtype_scalar_bfloat16(value);
        memcpy(out, &bits, sizeof bits);
    } else if (dtype_bits(dtype) == 8) {
        *(uint8_t *)out = dtype_scalar_to_code(dtype, value);
    } else {
        return false;
    }
    return true;
}

bool dtype_scalar_read_int(DType dtype, const void *from, int64_t *out) {
    uint32_t bits = dtype_bits(dtype);
    if (dtype == DTYPE_BOOL) {
        *out = *(const uint8_t *)from != 0;
        return true;
    }
    if (!dtype_is_integer(dtype) || bits < 8) return false;
    uint64_t raw = 0;
    memcpy(&raw, from, bits / 8);
    if (dtype_is_signed(dtype))
        *out = (int64_t)(raw << (64 - bits)) >> (64 - bits);
    else
        *out = raw > INT64_MAX ? INT64_MAX : (int64_t)raw;
    return true;
}

bool dtype_scalar_read(DType dtype, const void *from, double *out) {
    int64_t integer;
    if (dtype == DTYPE_UINT64) {
        uint64_t raw;
        memcpy(&raw, from, sizeof raw);
        *out = (double)raw;
    } else if (dtype_scalar_read_int(dtype, from, &integer)) {
        *out = (double)integer;
    } else if (dtype == DTYPE_FLOAT32) {
        float value;
        memcpy(&value, from, sizeof value);
        *out = (double)value;
    } else if (dtype == DTYPE_FLOAT64) {
        memcpy(out, from, sizeof *out);
    } else if (dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16) {
        uint16_t bits;
        memcpy(&bits, from, sizeof bits);
        *out = dtype == DTYPE_FLOAT16 ? dtype_scalar_from_float16(bits)
                                      : dtype_scalar_from_bfloat16(bits);
    } else if (dtype_bits(dtype) == 8) {
        *out = dtype_scalar_from_code(dtype, *(const uint8_t *)from);
    } else {
        return false;
    }
    return true;
}

static double least_normal(DType dtype) {
    if (dtype == DTYPE_FLOAT64) return DBL_MIN;
    return dtype == DTYPE_FLOAT16 ? 0x1p-14 : (double)FLT_MIN; /* bfloat16's too */
}

bool dtype_scalar_holds(DType dtype, double value) {
    uint8_t bytes[8];
    double held;
    if (!dtype_in(DTYPES_FLOAT, dtype) || !dtype_scalar_write(dtype, value, bytes)) return false;
    if (!dtype_scalar_read(dtype, bytes, &held) || !isfinite(held)) return false;
    return value == 0 || fabs(held) >= least_normal(dtype);
}
