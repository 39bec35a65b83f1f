#pragma once
/* asin, acos, atan, asinh, acosh, atanh. Errors against the exact value below 4 ulp in float64. In
 * float32 asin is below 3 ulp, acos and atan below 2; the others compute in float64 and are below
 * 1. Used by cpu_loops_curve.c and the CUDA kernels. Pure: no state. */
#include "kernels/scalar/scalar_exponential.h"

#define SCALAR_HALF_PI_HIGH 0x1.921fb54442d18p+0
#define SCALAR_HALF_PI_LOW 0x1.1a62633145c07p-54

/* (asin(x) / x - 1) of z = x^2 <= 1/4. */
SCALAR double scalar_asin_rest(double z) {
    double p = 0x1.d72b2bc8155f8p-6;
    p = p * z - 0x1.e6aaa8a0a04ccp-7;
    p = p * z + 0x1.1d189408314eep-6;
    p = p * z + 0x1.65a9c4dfcf8b2p-8;
    p = p * z + 0x1.52420b04b37bep-7;
    p = p * z + 0x1.782651caa6547p-7;
    p = p * z + 0x1.c9cf07674736ap-7;
    p = p * z + 0x1.1c4d35cf95421p-6;
    p = p * z + 0x1.6e8bb1c8209a2p-6;
    p = p * z + 0x1.f1c71c1db0623p-6;
    p = p * z + 0x1.6db6db6e31f13p-5;
    p = p * z + 0x1.3333333332ecap-4;
    p = p * z + 0x1.5555555555556p-3;
    return p * z;
}

/* Beyond 1/2 through asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)). */
SCALAR double scalar_asin_f64(double x) {
    double a = scalar_abs_f64(x);
    double z = a > 0.5 ? 0.5 * (1.0 - a) : a * a;
    double root = a > 0.5 ? __builtin_sqrt(z) : a;
    double y = root + root * scalar_asin_rest(z);
    y = a > 0.5 ? SCALAR_HALF_PI_HIGH - (2.0 * y - SCALAR_HALF_PI_LOW) : y;
    return scalar_canonical_f64(scalar_copy_sign_f64(y, x));
}

SCALAR double scalar_acos_f64(double x) {
    double a = scalar_abs_f64(x);
    double z = a > 0.5 ? 0.5 * (1.0 - a) : a * a;
    double root = a > 0.5 ? __builtin_sqrt(z) : x;
    double y = root + root * scalar_asin_rest(z);
    double low = SCALAR_HALF_PI_LOW;
    double near = SCALAR_HALF_PI_HIGH - (y - low);
    double far = x > 0.0 ? 2.0 * y : 2.0 * (SCALAR_HALF_PI_HIGH - (y - low));
    return scalar_canonical_f64(a > 0.5 ? far : near);
}

/* Around 0, around 1 through (a - 1) / (a + 1), and beyond through -1 / a. */
SCALAR double scalar_atan_f64(double x) {
    double a = scalar_abs_f64(x);
    double over = a > 2.414213562373095 ? -1.0 : a - 1.0;
    double under = a > 2.414213562373095 ? a : a + 1.0;
    double t = a < 0.41421356237309503 ? a : over / under;
    double high = a > 2.414213562373095 ? SCALAR_HALF_PI_HIGH : 0.5 * SCALAR_HALF_PI_HIGH;
    double low = a > 2.414213562373095 ? SCALAR_HALF_PI_LOW : 0.5 * SCALAR_HALF_PI_LOW;
    high = a < 0.41421356237309503 ? 0.0 : high;
    low = a < 0.41421356237309503 ? 0.0 : low;
    double z = t * t;
    double p = 0x1.0acd9e91a5a35p-6;
    p = p * z - 0x1.1b311bb48c215p-5;
    p = p * z + 0x1.74dccfb93fff0p-5;
    p = p * z - 0x1.ac7a5a79b3f26p-5;
    p = p * z + 0x1.e19a0bfa3eef9p-5;
    p = p * z - 0x1.110e87b4357d2p-4;
    p = p * z + 0x1.3b1392d519db1p-4;
    p = p * z - 0x1.745d165dc9713p-4;
    p = p * z + 0x1.c71c71c303dbbp-4;
    p = p * z - 0x1.249249248d7dcp-3;
    p = p * z + 0x1.9999999999953p-3;
    p = p * z - 0x1.5555555555555p-2;
    double y = high + (t + (t * z * p + low));
    return scalar_canonical_f64(scalar_copy_sign_f64(y, x));
}

SCALAR double scalar_asinh_f64(double x) {
    double a = scalar_abs_f64(x), z = a * a;
    double small = scalar_log1p_f64(a + z / (1.0 + __builtin_sqrt(z + 1.0)));
    double large = scalar_log_f64(a) + 0x1.62e42fefa39efp-1; /* ln 2 */
    return scalar_canonical_f64(scalar_copy_sign_f64(a > 0x1p28 ? large : small, x));
}

SCALAR double scalar_acosh_f64(double x) {
    double t = x - 1.0;
    double small = scalar_log1p_f64(t + __builtin_sqrt(2.0 * t + t * t));
    double large = scalar_log_f64(x) + 0x1.62e42fefa39efp-1;
    double y = x > 0x1p28 ? large : small;
    return x >= 1.0 ? scalar_canonical_f64(y) : scalar_nan_f64();
}

SCALAR double scalar_atanh_f64(double x) {
    double a = scalar_abs_f64(x);
    double y = 0.5 * scalar_log1p_f64(2.0 * a / (1.0 - a));
    return a <= 1.0 ? scalar_canonical_f64(scalar_copy_sign_f64(y, x)) : scalar_nan_f64();
}

#define SCALAR_INVERSE_F32(name)                                                                   \
    SCALAR float scalar_##name##_f32(float x) {                                                    \
        return scalar_canonical_f32((float)scalar_##name##_f64((double)x));                        \
    }
SCALAR_INVERSE_F32(asinh)
SCALAR_INVERSE_F32(acosh)
SCALAR_INVERSE_F32(atanh)

#define SCALAR_PI_F32 3.14159274f
#define SCALAR_HALF_PI_F32 1.57079637f

/* asin(root) of z = root^2 <= 1/4. */
SCALAR float scalar_asin_small_f32(float root, float z) {
    float p = scalar_fma_f32(4.21662591e-2f, z, 2.41795406e-2f);
    p = scalar_fma_f32(p, z, 4.54703718e-2f);
    p = scalar_fma_f32(p, z, 7.49529749e-2f);
    p = scalar_fma_f32(p, z, 1.66667521e-1f);
    return scalar_fma_f32(p, root * z, root);
}

/* Beyond 1/2 as in float64; `far` is the mask of that. */
SCALAR float scalar_asin_f32(float x) {
    float a = scalar_abs_f32(x);
    uint32_t far = 0 - (uint32_t)(a > 0.5f);
    float z = scalar_choose_f32(far, scalar_fma_f32(a, -0.5f, 0.5f), a * a);
    float root = scalar_choose_f32(far, __builtin_sqrtf(z), a);
    float y = scalar_asin_small_f32(root, z);
    y = scalar_choose_f32(far, scalar_fma_f32(y, -2.0f, SCALAR_HALF_PI_F32), y);
    return scalar_canonical_f32(scalar_copy_sign_f32(y, x));
}

/* Beyond 1/2 twice the asin of the root, from pi for negative x; else pi/2 - asin(x). */
SCALAR float scalar_acos_f32(float x) {
    float a = scalar_abs_f32(x);
    uint32_t far = 0 - (uint32_t)(a > 0.5f), negative = 0 - (scalar_bits_f32(x) >> 31);
    float z = scalar_choose_f32(far, scalar_fma_f32(a, -0.5f, 0.5f), a * a);
    float root = scalar_choose_f32(far, __builtin_sqrtf(z), a);
    float y = scalar_copy_sign_f32(scalar_asin_small_f32(root, z), x);
    float turn = scalar_keep_f32(SCALAR_PI_F32, negative);
    float base = scalar_choose_f32(far, turn, SCALAR_HALF_PI_F32);
    return scalar_canonical_f32(scalar_fma_f32(y, scalar_choose_f32(far, 2.0f, -1.0f), base));
}

/* Beyond 1 through -1 / a. */
SCALAR float scalar_atan_f32(float x) {
    float a = scalar_abs_f32(x);
    uint32_t far = 0 - (uint32_t)(a > 1.0f);
    float t = scalar_choose_f32(far, -1.0f, a) / scalar_choose_f32(far, a, 1.0f);
    float z = t * t;
    float p = scalar_fma_f32(-1.79355813e-3f, z, 1.09143211e-2f);
    p = scalar_fma_f32(p, z, -3.11773140e-2f);
    p = scalar_fma_f32(p, z, 5.79570569e-2f);
    p = scalar_fma_f32(p, z, -8.40341896e-2f);
    p = scalar_fma_f32(p, z, 1.09521754e-1f);
    p = scalar_fma_f32(p, z, -1.42642394e-1f);
    p = scalar_fma_f32(p, z, 1.99985474e-1f);
    p = scalar_fma_f32(p, z, -3.33332986e-1f);
    float y = scalar_fma_f32(p, t * z, t) + scalar_keep_f32(SCALAR_HALF_PI_F32, far);
    return scalar_unless_nan_f32(scalar_copy_sign_f32(y, x), x);
}
