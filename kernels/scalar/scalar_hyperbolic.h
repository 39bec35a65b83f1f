#pragma once
/* tanh, sinh, cosh, sigmoid, erf, Gelu. Errors against the exact value below 3 ulp (float32 and
 * float64), tanh of float32 below 5. sinh and cosh of float32 compute in float64. Used by the cpu's
 * kernels and, through scalar_float.h, the CUDA kernels. Pure: no state. */
#include "kernels/scalar/scalar_exponential.h"

/* x p(x^2) / q(x^2), fitted where tanh is not yet 1 in float32. Near 1 roundings may pass it, so
 * the quotient is bounded, too. */
#define SCALAR_TANH_END_F32 9.02f
SCALAR float scalar_tanh_f32(float x) {
    float c = scalar_at_least_f32(scalar_at_most_f32(x, SCALAR_TANH_END_F32), -SCALAR_TANH_END_F32);
    float z = c * c;
    float p = scalar_fma_f32(1.33191502e-8f, z, 2.05836441e-5f);
    p = scalar_fma_f32(p, z, 3.49404966e-3f);
    p = scalar_fma_f32(p, z, 1.33797318e-1f);
    p = scalar_fma_f32(p, z, 1.0f);
    float q = scalar_fma_f32(7.76208196e-7f, z, 3.28311377e-4f);
    q = scalar_fma_f32(q, z, 2.58711353e-2f);
    q = scalar_fma_f32(q, z, 4.67130482e-1f);
    q = scalar_fma_f32(q, z, 1.0f);
    float y = scalar_at_least_f32(scalar_at_most_f32(c * p / q, 1.0f), -1.0f);
    return scalar_unless_nan_f32(y, x);
}

SCALAR double scalar_tanh_f64(double x) {
    double a = scalar_abs_f64(x);
    double c = a > 22.0 ? 22.0 : a;
    double t = scalar_expm1_f64(c < 1.0 ? -2.0 * c : 2.0 * c);
    double quotient = (c < 1.0 ? -t : 2.0) / (t + 2.0);
    double y = c < 1.0 ? quotient : 1.0 - quotient;
    return scalar_canonical_f64(scalar_copy_sign_f64(y, x));
}

/* e^a / 2 in two factors, for a whose e^a is out of range. */
SCALAR double scalar_half_exp_f64(double a) {
    double root = scalar_exp_f64(0.5 * a);
    return 0.5 * root * root;
}

SCALAR double scalar_sinh_f64(double x) {
    double a = scalar_abs_f64(x);
    double t = scalar_expm1_f64(a > 40.0 ? 40.0 : a);
    double y = a > 22.0 ? 0.5 * scalar_exp_f64(a) : 0.5 * (t + t / (t + 1.0));
    y = a > 709.0 ? scalar_half_exp_f64(a) : y;
    return scalar_canonical_f64(scalar_copy_sign_f64(y, x));
}

SCALAR double scalar_cosh_f64(double x) {
    double a = scalar_abs_f64(x);
    double e = scalar_exp_f64(a);
    double y = 0.5 * e + 0.5 / e;
    return scalar_canonical_f64(a > 709.0 ? scalar_half_exp_f64(a) : y);
}

SCALAR float scalar_sinh_f32(float x) {
    return scalar_canonical_f32((float)scalar_sinh_f64((double)x));
}
SCALAR float scalar_cosh_f32(float x) {
    return scalar_canonical_f32((float)scalar_cosh_f64((double)x));
}

/* Between these e^t matters beside 1 and is finite, apart from the rounding of its exponent. */
#define SCALAR_SWISH_LEAST_F32 -30.0f
#define SCALAR_SWISH_MOST_F32 88.8f

/* 1 / (1 + e^-x). Adding the rounder leaves the exponent of 2^-k, with its bias of 127, in the low
 * bits. The polynomial is fitted to e^-s with s within ln 2 / 2. */
SCALAR float scalar_sigmoid_f32(float x) {
    const float rounder = SCALAR_ROUNDER_F32 + 127.0f;
    float t = scalar_at_most_f32(x, -SCALAR_SWISH_LEAST_F32);
    t = scalar_at_least_f32(t, -SCALAR_SWISH_MOST_F32);
    float shifted = scalar_fma_f32(t, -1.44269504f, rounder);
    float k = shifted - rounder;
    float s = scalar_fma_f32(k, SCALAR_LN2_LOW_F32, scalar_fma_f32(k, SCALAR_LN2_HIGH_F32, t));
    float q = scalar_fma_f32(1.38437457e-3f, s, -8.37417133e-3f);
    q = scalar_fma_f32(q, s, 4.16680016e-2f);
    q = scalar_fma_f32(q, s, -1.66664317e-1f);
    q = scalar_fma_f32(q, s, 0.49999994f);
    q = scalar_fma_f32(q, s, -1.0f);
    q = scalar_fma_f32(q, s, 1.0f);
    float power = scalar_make_f32(scalar_bits_f32(shifted) << 23);
    return scalar_unless_nan_f32(1.0f / scalar_fma_f32(q, power, 1.0f), x);
}

SCALAR double scalar_sigmoid_loose_f64(double x) {
    double e = scalar_exp_f64(-scalar_abs_f64(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

/* x / (1 + e^t); a NaN gives any NaN. Below the least exponent 1 + e^t is 1, above the most e^t is
 * infinite. The polynomial is fitted to e^s with s within ln 2 / 2 and summed in pairs, since what
 * limits this function is how long one step waits for another. */
SCALAR float scalar_gated_loose_f32(float x, float t) {
    const float rounder = SCALAR_ROUNDER_F32 + 127.0f;
    t = t < SCALAR_SWISH_LEAST_F32 ? SCALAR_SWISH_LEAST_F32 : t;
    t = t > SCALAR_SWISH_MOST_F32 ? SCALAR_SWISH_MOST_F32 : t;
    float shifted = scalar_fma_f32(t, 1.44269504f, rounder);
    float k = shifted - rounder;
    float s = scalar_fma_f32(k, -SCALAR_LN2_LOW_F32, scalar_fma_f32(k, -SCALAR_LN2_HIGH_F32, t));
    float z = s * s;
    float q = scalar_fma_f32(s, 8.37480556e-3f, 4.16677259e-2f);
    q = scalar_fma_f32(z, 1.38592592e-3f, q);
    q = scalar_fma_f32(q, z, scalar_fma_f32(s, 1.66664198e-1f, 0.49999994f));
    q = scalar_fma_f32(q, z, s + 1.0f);
    return x / scalar_fma_f32(q, scalar_make_f32(scalar_bits_f32(shifted) << 23), 1.0f);
}

/* x sigmoid(alpha x). */
SCALAR float scalar_swish_loose_f32(float x, float alpha) {
    return scalar_gated_loose_f32(x, x * -alpha);
}

SCALAR double scalar_swish_loose_f64(double x, double alpha) {
    return x * scalar_sigmoid_loose_f64(alpha * x);
}

SCALAR double scalar_sigmoid_f64(double x) {
    return scalar_canonical_f64(scalar_sigmoid_loose_f64(x));
}

/* (a + b t) + (c + d t) t2 */
SCALAR float scalar_cubic_f32(float t, float t2, float a, float b, float c, float d) {
    return scalar_fma_f32(scalar_fma_f32(d, t, c), t2, scalar_fma_f32(b, t, a));
}

SCALAR float scalar_erf_f32(float x) {
    float a = scalar_abs_f32(x);
    float z = x * x;
    float p = 8.3347186e-5f;
    p = scalar_fma_f32(p, z, -8.134709e-4f);
    p = scalar_fma_f32(p, z, 5.200369e-3f);
    p = scalar_fma_f32(p, z, -2.6859151e-2f);
    p = scalar_fma_f32(p, z, 1.1283691e-1f);
    p = scalar_fma_f32(p, z, -3.7612635e-1f);
    p = scalar_fma_f32(p, z, 1.2837917e-1f);
    float small = scalar_fma_f32(x, p, x);
    /* erfc as a polynomial of c - 2.46, in pairs of pairs, so that no term waits for many others.
     * erf is 1 in float32 from 3.93 on. */
    float c = a > 4.0f ? 4.0f : a;
    float t = c - 2.46f, t2 = t * t, t4 = t2 * t2;
    float q0 =
        scalar_cubic_f32(t, t2, 5.03353309e-4f, -2.65630707e-3f, 6.53452938e-3f, -9.83124319e-3f);
    float q1 =
        scalar_cubic_f32(t, t2, 9.91409551e-3f, -6.80558523e-3f, 2.93744705e-3f, -4.46037186e-4f);
    float q2 =
        scalar_cubic_f32(t, t2, -3.56302742e-4f, 2.84572481e-4f, -7.55286383e-5f, -1.55753278e-5f);
    float q3 =
        scalar_cubic_f32(t, t2, 1.72240943e-5f, -2.92089271e-6f, -1.07931658e-6f, 3.5029953e-7f);
    float q = scalar_fma_f32(scalar_fma_f32(q3, t4, q2), t4 * t4, scalar_fma_f32(q1, t4, q0));
    float big = scalar_copy_sign_f32(1.0f - q, x);
    return scalar_canonical_f32(a < 0.92f ? small : big);
}

SCALAR double scalar_erf_small_f64(double x) {
    double z = x * x;
    double p = -0x1.29b9f1b3df556p-38;
    p = p * z + 0x1.7f072188e194dp-34;
    p = p * z - 0x1.4e607b41a6416p-30;
    p = p * z + 0x1.fc4356498c2d9p-27;
    p = p * z - 0x1.5f6d925a0bc7ap-23;
    p = p * z + 0x1.b9e6509b9867dp-20;
    p = p * z - 0x1.f4d2561aeafd4p-17;
    p = p * z + 0x1.f9a326c233146p-14;
    p = p * z - 0x1.c02db3feeb579p-11;
    p = p * z + 0x1.565bcd0e6502dp-8;
    p = p * z - 0x1.b82ce312889bap-6;
    p = p * z + 0x1.ce2f21a042bdep-4;
    p = p * z - 0x1.812746b0379e7p-2;
    p = p * z + 0x1.06eba8214db69p-3;
    return x + x * p;
}

/* erfc(a) = exp(-a^2) / (1 + 2a) * p((a - 3) / (a + 3)) for 1 <= a <= 6. */
SCALAR double scalar_erfc_big_f64(double a) {
    double t = (a - 3.0) / (a + 3.0);
    double p = 0x1.321f889bb923cp-19;
    p = p * t - 0x1.17b6840ac28d6p-20;
    p = p * t - 0x1.4ab8d8b37f503p-16;
    p = p * t + 0x1.5723efe900904p-18;
    p = p * t + 0x1.063e920e8ebbcp-13;
    p = p * t - 0x1.b9318111251a8p-14;
    p = p * t - 0x1.98dae3540d6eap-11;
    p = p * t + 0x1.ef1c07e58cba1p-10;
    p = p * t + 0x1.4b884d8951bd2p-9;
    p = p * t - 0x1.8574c429fb79ap-6;
    p = p * t + 0x1.17ca2877f8f7fp-4;
    p = p * t - 0x1.e88b803a1ff12p-4;
    p = p * t + 0x1.098366a5b4838p-3;
    p = p * t - 0x1.85a15c58ab08ep-5;
    p = p * t - 0x1.15c084bb9e8f5p-3;
    p = p * t + 0x1.40c522d7e4987p+0;
    return scalar_exp_f64(-a * a) * p / (1.0 + 2.0 * a);
}

SCALAR double scalar_erf_f64(double x) {
    double a = scalar_abs_f64(x);
    double c = a > 6.0 ? 6.0 : a;
    double big = scalar_copy_sign_f64(1.0 - scalar_erfc_big_f64(c), x);
    return scalar_canonical_f64(a < 1.0 ? scalar_erf_small_f64(x) : big);
}

/* Gelu with tanh is x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)). */
#define SCALAR_GELU_LINEAR_F32 -1.59576912f
#define SCALAR_GELU_CUBIC_F32 -7.13548163e-2f
SCALAR float scalar_gelu_tanh_loose_f32(float x) {
    float z = x * x;
    float slope = scalar_fma_f32(z, SCALAR_GELU_CUBIC_F32, SCALAR_GELU_LINEAR_F32);
    return scalar_gated_loose_f32(x, x * slope);
}
SCALAR double scalar_gelu_tanh_loose_f64(double x) {
    double inner = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1.0 + scalar_tanh_f64(inner));
}

/* Gelu is max(x, 0) - |x| q(|x|) with q(a) = erfc(a / sqrt(2)) / 2, a polynomial of a minus the
 * middle of the range. Even and odd powers are two sums, so that a step waits for fewer ones. The
 * error is below 5 ulp and 5e-7; |x| q is left out from the end on, where it is 4e-7. A NaN gives
 * any NaN. */
#define SCALAR_GELU_END_F32 5.25f
#define SCALAR_GELU_MIDDLE_F32 2.625f
/* The factors of even and of odd powers, from the highest one down. */
#define SCALAR_GELU_EVEN_FIRST_F32 -4.68939818e-11f
#define SCALAR_GELU_ODD_FIRST_F32 8.59827765e-11f
#define SCALAR_GELU_STEPS_F32(STEP, with)                                                          \
    STEP(with, 9.37896516e-9f, -4.57766536e-9f)                                                    \
    STEP(with, -3.69291854e-7f, 9.30123747e-8f)                                                    \
    STEP(with, 6.45968385e-6f, -6.0420075e-7f)                                                     \
    STEP(with, -4.28218336e-5f, -9.99533677e-6f)                                                   \
    STEP(with, -2.97865045e-4f, 2.27684126e-4f)                                                    \
    STEP(with, 5.41451946e-3f, -9.69342655e-4f)                                                    \
    STEP(with, 1.67005006e-2f, -1.24920281e-2f)                                                    \
    STEP(with, 4.33244836e-3f, -1.27242049e-2f)

SCALAR float scalar_gelu_erf_loose_f32(float x) {
    float a = scalar_abs_f32(x), t = a - SCALAR_GELU_MIDDLE_F32, z = t * t;
    float even = SCALAR_GELU_EVEN_FIRST_F32, odd = SCALAR_GELU_ODD_FIRST_F32;
#define SCALAR_GELU_STEP(fma, e, o) even = fma(even, z, e), odd = fma(odd, z, o);
    SCALAR_GELU_STEPS_F32(SCALAR_GELU_STEP, scalar_fma_f32)
#undef SCALAR_GELU_STEP
    float w = a * scalar_fma_f32(odd, t, even);
    float positive = x < 0.0f ? 0.0f : x;
    return positive - (a < SCALAR_GELU_END_F32 ? w : 0.0f);
}
SCALAR double scalar_gelu_erf_loose_f64(double x) {
    return 0.5 * x * (1.0 + scalar_erf_f64(x * 0.70710678118654752440));
}
