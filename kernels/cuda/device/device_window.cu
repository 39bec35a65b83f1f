/* Sliding windows: convolutions and pools, one thread for each output, in the order of the
 * kernel. */
#include "kernels/cuda/device/device_epilogue.h"

/* The element of a plane that kernel position `position` reads for an output, or -1 in the
 * padding. */
DEVICE int64_t window_input(const CudaWindow *window, int64_t output, int64_t position) {
    int64_t offset = 0, step = 1;
    for (uint32_t d = window->rank; d-- > 0;) {
        const int64_t at = output % window->output[d] * window->stride[d] - window->pad_begin[d] +
                           position % window->kernel[d] * window->dilation[d];
        output /= window->output[d];
        position /= window->kernel[d];
        if (at < 0 || at >= window->input[d]) return -1;
        offset += at * step;
        step *= window->input[d];
    }
    return offset;
}

/* The inverse: the input that reaches `output` through `position`, or -1. */
DEVICE int64_t window_source(const CudaWindow *window, int64_t output, int64_t position) {
    int64_t offset = 0, step = 1;
    for (uint32_t d = window->rank; d-- > 0;) {
        const int64_t at = output % window->output[d] + window->pad_begin[d] -
                           position % window->kernel[d] * window->dilation[d];
        output /= window->output[d];
        position /= window->kernel[d];
        if (at < 0 || at % window->stride[d] != 0 || at / window->stride[d] >= window->input[d])
            return -1;
        offset += at / window->stride[d] * step;
        step *= window->input[d];
    }
    return offset;
}

#define WINDOW_LOAD(s, address, dtype, at)                                                         \
    element_to_##s(dtype, element_load(address, element_size(dtype), at))

#define CONV_OF(T, s)                                                                              \
    DEVICE void conv_output_##s(const CudaConvParams *p, uint64_t i, int transposed) {             \
        const int64_t output = (int64_t)i % p->output_count, plane = (int64_t)i / p->output_count; \
        const int64_t filter = plane % (p->groups * p->filters), group = filter / p->filters;      \
        const int64_t image = plane / (p->groups * p->filters);                                    \
        const int64_t x = (image * p->groups + group) * p->channels * p->input_count;              \
        const int64_t w_step = (transposed ? p->filters : 1) * p->kernel_count;                    \
        const int64_t w = transposed ? (group * p->channels * p->filters + filter % p->filters) *  \
                                           p->kernel_count                                         \
                                     : filter * p->channels * p->kernel_count;                     \
        T sum = 0;                                                                                 \
        for (int64_t position = 0; position < p->kernel_count; position++) {                       \
            const int64_t at = transposed ? window_source(&p->window, output, position)            \
                                          : window_input(&p->window, output, position);            \
            if (at < 0) continue;                                                                  \
            for (int64_t c = 0; c < p->channels; c++)                                              \
                sum += WINDOW_LOAD(s, p->x, p->dtype, x + c * p->input_count + at) *               \
                       WINDOW_LOAD(s, p->w, p->dtype, w + c * w_step + position);                  \
        }                                                                                          \
        element_store(p->y, element_size(p->dtype), (int64_t)i,                                    \
            epilogue_##s(&p->epilogue, p->dtype, sum, filter, (int64_t)i));                        \
    }                                                                                              \
    KERNEL(layover_conv_##s, CudaConvParams) {                                                     \
        THREADS(t) { EACH_UNIT(i, t, p.count) conv_output_##s(&p, i, 0); }                         \
    }
CONV_OF(float, f32)
CONV_OF(double, f64)

KERNEL(layover_conv_transpose_f32, CudaConvParams) {
    THREADS(t) { EACH_UNIT(i, t, p.count) conv_output_f32(&p, i, 1); }
}

/* Applies the epilogue to a convolution that a library has computed. */
KERNEL(layover_epilogue_f32, CudaEpilogueParams) {
    THREADS(t) {
        EACH_UNIT(i, t, p.count) {
            const float sum = WINDOW_LOAD(f32, p.to, p.dtype, (int64_t)i);
            const int64_t channel = (int64_t)i / p.pixels % p.channels;
            element_store(p.to, element_size(p.dtype), (int64_t)i,
                epilogue_f32(&p.epilogue, p.dtype, sum, channel, (int64_t)i));
        }
    }
}

/* The number of elements that an average counts for an output. */
DEVICE int64_t pool_counted(const CudaPoolParams *p, int64_t output) {
    const CudaWindow *window = &p->window;
    int64_t counted = 1;
    for (uint32_t d = window->rank; d-- > 0; output /= window->output[d]) {
        const int64_t corner =
            output % window->output[d] * window->stride[d] - window->pad_begin[d];
        const int64_t low = p->include_padding ? -window->pad_begin[d] : 0;
        const int64_t high = window->input[d] + (p->include_padding ? window->pad_end[d] : 0);
        int64_t within = 0;
        for (int64_t k = 0; k < window->kernel[d]; k++) {
            const int64_t at = corner + k * window->dilation[d];
            within += at >= low && at < high;
        }
        counted *= within;
    }
    return counted;
}

DEVICE int64_t pool_index(const CudaPoolParams *p, int64_t at) {
    int64_t index = 0;
    for (uint32_t d = p->window.rank; d-- > 0; at /= p->window.input[d])
        index += at % p->window.input[d] * p->index_step[d];
    return index;
}

/* A NaN is the maximum; of equal maxima the first counts. */
#define POOL_OF(T, s, START)                                                                       \
    DEVICE void max_pool_output_##s(const CudaPoolParams *p, uint64_t i) {                         \
        const int64_t output = (int64_t)i % p->output_count, plane = (int64_t)i / p->output_count; \
        const uint32_t size = element_size(p->dtype);                                              \
        T most = START;                                                                            \
        int64_t found = -1;                                                                        \
        for (int64_t position = 0; position < p->kernel_count; position++) {                       \
            const int64_t at = window_input(&p->window, output, position);                         \
            if (at < 0) continue;                                                                  \
            const T x = (T)element_to_##s(                                                         \
                p->dtype, element_load(p->x, size, plane * p->input_count + at));                  \
            if (found < 0 || x > most || (x != x && most == most)) {                               \
                most = x;                                                                          \
                found = at;                                                                        \
            }                                                                                      \
        }                                                                                          \
        element_store(p->y, size, (int64_t)i, element_from_##s(p->dtype, most));                   \
        if (p->indices)                                                                            \
            ((int64_t *)(uintptr_t)p->indices)[i] =                                                \
                plane * p->input_count + (found < 0 ? 0 : pool_index(p, found));                   \
    }
#define AVERAGE_POOL_OF(T, s)                                                                      \
    DEVICE void average_pool_output_##s(const CudaPoolParams *p, uint64_t i) {                     \
        const int64_t output = (int64_t)i % p->output_count, plane = (int64_t)i / p->output_count; \
        const int64_t counted = pool_counted(p, output);                                           \
        T sum = 0;                                                                                 \
        for (int64_t position = 0; position < p->kernel_count; position++) {                       \
            const int64_t at = window_input(&p->window, output, position);                         \
            if (at >= 0) sum += WINDOW_LOAD(s, p->x, p->dtype, plane * p->input_count + at);       \
        }                                                                                          \
        if (counted > 0) sum /= (T)counted;                                                        \
        element_store(p->y, element_size(p->dtype), (int64_t)i, element_from_##s(p->dtype, sum));  \
    }
DEVICE int64_t element_to_i64(uint32_t dtype, uint64_t bits) {
    return (int64_t)element_widen(dtype, bits);
}
DEVICE uint64_t element_from_i64(uint32_t dtype, int64_t value) {
    (void)dtype;
    return (uint64_t)value;
}
POOL_OF(float, f32, -scalar_infinity_f32())
POOL_OF(double, f64, -scalar_infinity_f64())
POOL_OF(int64_t, i64, p->dtype == DTYPE_INT8 ? INT8_MIN : 0)
AVERAGE_POOL_OF(float, f32)
AVERAGE_POOL_OF(double, f64)

KERNEL(layover_pool, CudaPoolParams) {
    THREADS(t) {
        EACH_UNIT(i, t, p.count) {
            if (p.average && p.dtype == DTYPE_FLOAT64)
                average_pool_output_f64(&p, i);
            else if (p.average)
                average_pool_output_f32(&p, i);
            else if (p.dtype == DTYPE_FLOAT64)
                max_pool_output_f64(&p, i);
            else if (element_is_float(p.dtype))
                max_pool_output_f32(&p, i);
            else
                max_pool_output_i64(&p, i);
        }
    }
}
