/* Softmax and the normalisations: a block sums one row in shared memory. float32, float16 and
 * bfloat16 are computed in float32, float64 in itself. */
#include "kernels/cuda/device/device_block.h"
#include "kernels/cuda/device/device_elements.h"
#include "kernels/scalar/scalar_float.h"

#define ROW_LOAD(s, address, dtype, at)                                                            \
    element_to_##s(dtype, element_load(address, element_size(dtype), at))
#define ROW_STORE(s, address, dtype, at, value)                                                    \
    element_store(address, element_size(dtype), at, element_from_##s(dtype, value))

#define ROWS_OF(T, s)                                                                              \
    DEVICE void softmax_put_##s(                                                                   \
        const CudaSoftmaxParams *p, int64_t at, T most, T sum, T log_sum) {                        \
        const T x = ROW_LOAD(s, p->from, p->dtype, at) - most;                                     \
        const T y = p->logarithm ? x - log_sum : scalar_exp_##s(x) / sum;                          \
        ROW_STORE(s, p->to, p->dtype, at, scalar_canonical_##s(y));                                \
    }                                                                                              \
    KERNEL(layover_softmax_rows_##s, CudaSoftmaxParams) {                                          \
        SHARED(T, lanes, CUDA_THREADS);                                                            \
        SHARED(T, kept, 2);                                                                        \
        for (int64_t row = (int64_t)BLOCK; row < p.outer; row += (int64_t)BLOCKS) {                \
            const int64_t base = row * p.size;                                                     \
            PHASE(t) {                                                                             \
                T most = -scalar_infinity_##s();                                                   \
                for (int64_t i = t; i < p.size; i += CUDA_THREADS) {                               \
                    const T x = ROW_LOAD(s, p.from, p.dtype, base + i);                            \
                    most = x > most ? x : most;                                                    \
                }                                                                                  \
                lanes[t] = most;                                                                   \
            }                                                                                      \
            BLOCK_FOLD(T, lanes, a > b ? a : b)                                                    \
            PHASE(t) {                                                                             \
                if (t == 0) kept[0] = lanes[0];                                                    \
            }                                                                                      \
            PHASE(t) {                                                                             \
                T sum = 0;                                                                         \
                for (int64_t i = t; i < p.size; i += CUDA_THREADS)                                 \
                    sum += scalar_exp_##s(ROW_LOAD(s, p.from, p.dtype, base + i) - kept[0]);       \
                lanes[t] = sum;                                                                    \
            }                                                                                      \
            BLOCK_FOLD(T, lanes, a + b)                                                            \
            PHASE(t) {                                                                             \
                if (t == 0) kept[1] = scalar_log_##s(lanes[0]);                                    \
            }                                                                                      \
            PHASE(t) {                                                                             \
                for (int64_t i = t; i < p.size; i += CUDA_THREADS)                                 \
                    softmax_put_##s(&p, base + i, kept[0], lanes[0], kept[1]);                     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    /* the axis is not the last: neighbouring threads take neighbouring columns */                 \
    KERNEL(layover_softmax_columns_##s, CudaSoftmaxParams) {                                       \
        THREADS(t) {                                                                               \
            EACH_UNIT(column, t, (uint64_t)(p.outer * p.inner)) {                                  \
                const int64_t base =                                                               \
                    (int64_t)column / p.inner * p.size * p.inner + (int64_t)column % p.inner;      \
                T most = -scalar_infinity_##s(), sum = 0;                                          \
                for (int64_t i = 0; i < p.size; i++) {                                             \
                    const T x = ROW_LOAD(s, p.from, p.dtype, base + i * p.inner);                  \
                    most = x > most ? x : most;                                                    \
                }                                                                                  \
                for (int64_t i = 0; i < p.size; i++)                                               \
                    sum +=                                                                         \
                        scalar_exp_##s(ROW_LOAD(s, p.from, p.dtype, base + i * p.inner) - most);   \
                const T log_sum = scalar_log_##s(sum);                                             \
                for (int64_t i = 0; i < p.size; i++)                                               \
                    softmax_put_##s(&p, base + i * p.inner, most, sum, log_sum);                   \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    DEVICE T along_##s(                                                                            \
        const CudaNormalizeParams *p, const CudaAlong *along, int64_t row, int64_t i) {            \
        int64_t at = row % along->row_wrap * along->row_step + i * along->step;                    \
        if (along->strided)                                                                        \
            at = element_offset((uint64_t)(row * p->size + i), (uint64_t)(p->rows * p->size),      \
                p->rank, p->dims, along->strides);                                                 \
        return ROW_LOAD(s, along->address, along->dtype, at);                                      \
    }                                                                                              \
    DEVICE void normalize_put_##s(                                                                 \
        const CudaNormalizeParams *p, int64_t row, int64_t i, T mean, T off, T inverse) {          \
        const int64_t at = row * p->size + i;                                                      \
        T x = (ROW_LOAD(s, p->from, p->dtype, at) - mean - off) * inverse;                         \
        x *= along_##s(p, &p->scale, row, i);                                                      \
        if (p->bias.address) x += along_##s(p, &p->bias, row, i);                                  \
        ROW_STORE(s, p->to, p->dtype, at, scalar_canonical_##s(x));                                \
    }                                                                                              \
    /* corrects the mean: for nearly equal elements its rounding error is as large as the          \
     * deviations */                                                                               \
    KERNEL(layover_normalize_##s, CudaNormalizeParams) {                                           \
        SHARED(T, lanes, CUDA_THREADS);                                                            \
        SHARED(T, left, CUDA_THREADS);                                                             \
        SHARED(T, mean, 1);                                                                        \
        const T size = (T)p.size;                                                                  \
        for (int64_t row = (int64_t)BLOCK; row < p.rows; row += (int64_t)BLOCKS) {                 \
            PHASE(t) {                                                                             \
                T sum = 0;                                                                         \
                for (int64_t i = t; p.centered && i < p.size; i += CUDA_THREADS)                   \
                    sum += ROW_LOAD(s, p.from, p.dtype, row * p.size + i);                         \
                lanes[t] = sum;                                                                    \
            }                                                                                      \
            BLOCK_FOLD(T, lanes, a + b)                                                            \
            PHASE(t) {                                                                             \
                if (t == 0) mean[0] = scalar_canonical_##s(lanes[0] / size);                       \
            }                                                                                      \
            PHASE(t) {                                                                             \
                T sum = 0, squares = 0;                                                            \
                for (int64_t i = t; i < p.size; i += CUDA_THREADS) {                               \
                    const T x = ROW_LOAD(s, p.from, p.dtype, row * p.size + i) - mean[0];          \
                    sum += x;                                                                      \
                    squares += x * x;                                                              \
                }                                                                                  \
                lanes[t] = squares;                                                                \
                left[t] = p.centered ? sum : 0;                                                    \
            }                                                                                      \
            BLOCK_FOLD(T, lanes, a + b)                                                            \
            BLOCK_FOLD(T, left, a + b)                                                             \
            PHASE(t) {                                                                             \
                const T off = left[0] / size, variance = lanes[0] / size - off * off;              \
                const T inverse = scalar_canonical_##s(                                            \
                    (T)1 / scalar_sqrt_##s((variance < 0 ? 0 : variance) + (T)p.epsilon));         \
                for (int64_t i = t; i < p.size; i += CUDA_THREADS)                                 \
                    normalize_put_##s(&p, row, i, mean[0], off, inverse);                          \
                if (t == 0 && p.mean)                                                              \
                    ROW_STORE(                                                                     \
                        s, p.mean, p.statistics_dtype, row, scalar_canonical_##s(mean[0] + off));  \
                if (t == 0 && p.deviation)                                                         \
                    ROW_STORE(s, p.deviation, p.statistics_dtype, row, inverse);                   \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    KERNEL(layover_batch_normalize_##s, CudaBatchNormalizeParams) {                                \
        THREADS(t) {                                                                               \
            EACH_UNIT(i, t, p.count) {                                                             \
                const int64_t channel = (int64_t)i / p.pixels % p.channels;                        \
                const T variance = ROW_LOAD(s, p.variance, p.statistics_dtype, channel);           \
                const T factor = ROW_LOAD(s, p.scale, p.scale_dtype, channel) /                    \
                                 scalar_sqrt_##s(variance + (T)p.epsilon);                         \
                T x = ROW_LOAD(s, p.from, p.dtype, (int64_t)i);                                    \
                x = (x - ROW_LOAD(s, p.mean, p.statistics_dtype, channel)) * factor;               \
                x += ROW_LOAD(s, p.bias, p.scale_dtype, channel);                                  \
                ROW_STORE(s, p.to, p.dtype, (int64_t)i, scalar_canonical_##s(x));                  \
            }                                                                                      \
        }                                                                                          \
    }
ROWS_OF(float, f32)
ROWS_OF(double, f64)

KERNEL(layover_lrn, CudaLrnParams) {
    THREADS(t) {
        EACH_UNIT(i, t, p.count) {
            const int64_t channel = (int64_t)i / p.pixels % p.channels;
            const int64_t first = channel > p.before ? channel - p.before : 0;
            int64_t last = channel + p.after;
            float sum = 0;
            if (last > p.channels - 1) last = p.channels - 1;
            for (int64_t c = first; c <= last; c++) {
                const int64_t at = (int64_t)i + (c - channel) * p.pixels;
                const float x = ROW_LOAD(f32, p.from, p.dtype, at);
                sum += x * x;
            }
            const float scale = scalar_pow_f32(sum * p.factor + p.bias, p.beta);
            const float x = ROW_LOAD(f32, p.from, p.dtype, (int64_t)i);
            ROW_STORE(f32, p.to, p.dtype, (int64_t)i, scalar_div_f32(x, scale));
        }
    }
}
