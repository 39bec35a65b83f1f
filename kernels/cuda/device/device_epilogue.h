#pragma once
/* The end of fused operators, applied to a finished sum: scale, bias, residual, activation.
 * Activations are the functors of the plain operators. Included by the kernels of products and
 * windows; runs on the GPU. */
#include "kernels/operator/activation.h"
#include "kernels/cuda/device/device_elements.h"
#include "kernels/scalar/scalar_float.h"

/* bias and residual: indices of their elements. */
#define EPILOGUE_OF(T, s)                                                                          \
    DEVICE T epilogue_activate_##s(const CudaEpilogue *e, T x) {                                   \
        switch (e->activation) {                                                                   \
        case ACTIVATION_RELU:                                                                      \
            return scalar_relu_##s(x);                                                             \
        case ACTIVATION_LEAKY_RELU:                                                                \
            return scalar_leaky_relu_##s(x, (T)e->activation_alpha);                               \
        case ACTIVATION_CLIP:                                                                      \
            return scalar_clip_##s(x, (T)e->activation_alpha, (T)e->activation_beta);              \
        case ACTIVATION_TANH:                                                                      \
            return scalar_tanh_##s(x);                                                             \
        case ACTIVATION_SIGMOID:                                                                   \
            return scalar_sigmoid_##s(x);                                                          \
        case ACTIVATION_HARD_SWISH:                                                                \
            return scalar_hard_swish_##s(x);                                                       \
        case ACTIVATION_SCALED_HARD_SWISH:                                                         \
            return scalar_scaled_hard_swish_##s(x, (T)e->activation_alpha, (T)e->activation_beta); \
        case ACTIVATION_GELU_ERF:                                                                  \
            return scalar_gelu_erf_##s(x);                                                         \
        case ACTIVATION_GELU_TANH:                                                                 \
            return scalar_gelu_tanh_##s(x);                                                        \
        case ACTIVATION_SWISH:                                                                     \
            return scalar_swish_##s(x, (T)e->activation_alpha);                                    \
        case ACTIVATION_MISH:                                                                      \
            return scalar_mish_##s(x);                                                             \
        default:                                                                                   \
            return x;                                                                              \
        }                                                                                          \
    }                                                                                              \
    DEVICE_CALL uint64_t epilogue_##s(                                                             \
        const CudaEpilogue *e, uint32_t dtype, T sum, int64_t bias, int64_t residual) {            \
        const uint32_t size = element_size(dtype);                                                 \
        T x = sum * (T)e->alpha;                                                                   \
        if (e->bias)                                                                               \
            x += element_to_##s(dtype, element_load(e->bias, size, bias)) * (T)e->bias_scale;      \
        if (e->residual) x += element_to_##s(dtype, element_load(e->residual, size, residual));    \
        return element_from_##s(dtype, scalar_canonical_##s(epilogue_activate_##s(e, x)));         \
    }
EPILOGUE_OF(float, f32)
EPILOGUE_OF(double, f64)
