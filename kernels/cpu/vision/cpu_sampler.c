#include "kernels/cpu/vision/cpu_sampler.h"

#include <math.h>

/* Keys' cubic convolution, as in PyTorch. */
static const double CUBIC_A = -0.75;
/* Points further away than that have nothing to do with an image; coordinates below convert to
 * int64. */
static const double FAR = 0x1p60;

static uint32_t taps_along(CpuSamplerMode mode) {
    return mode == CPU_SAMPLER_LINEAR ? 2 : mode == CPU_SAMPLER_CUBIC ? 4 : 1;
}

uint32_t cpu_sampler_tap_count(const CpuSampler *sampler) {
    uint32_t count = 1;
    for (uint32_t i = 0; i < sampler->rank; i++) count *= taps_along(sampler->mode);
    return count;
}

uint32_t cpu_sampler_block(const CpuSampler *sampler) {
    const uint32_t fit = CPU_SAMPLER_TAPS_MAX / cpu_sampler_tap_count(sampler);
    return fit < CPU_SAMPLER_POINTS_MAX ? fit : CPU_SAMPLER_POINTS_MAX;
}

/* Reflects x at the limits until it is between them. */
static double reflect(double x, double low, double high) {
    const double range = high - low;
    if (!(range > 0)) return low;
    const double beyond = x < low ? low - x : x - high;
    if (!(beyond > 0)) return x;
    const double turns = floor(beyond / range);
    double rest = beyond - turns * range;
    rest = rest < 0 ? 0 : rest > range ? range : rest;
    const bool even = turns - 2 * floor(turns / 2) == 0;
    return even == (x < low) ? low + rest : high - rest;
}

static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

/* The coordinate inside the image that stands for one outside. */
static double bring_inside(const CpuSampler *sampler, uint32_t d, double x) {
    const double last = (double)(sampler->dims[d] - 1), edge = sampler->corners ? 0 : 0.5;
    if (x != x) x = sampler->padding == CPU_SAMPLER_ZEROS ? -FAR : 0;
    x = clamp(x, -FAR, FAR);
    if (x >= -edge && x <= last + edge) return x;
    if (sampler->padding == CPU_SAMPLER_BORDER) return clamp(x, 0, last);
    return sampler->padding == CPU_SAMPLER_REFLECTION ? reflect(x, -edge, last + edge) : x;
}

/* The element that index i along d stands for; -1: zero. */
static int64_t index_inside(const CpuSampler *sampler, uint32_t d, int64_t i) {
    const int64_t last = sampler->dims[d] - 1;
    if (i >= 0 && i <= last) return i;
    if (sampler->padding == CPU_SAMPLER_ZEROS) return -1;
    if (sampler->padding == CPU_SAMPLER_BORDER) return i < 0 ? 0 : last;
    const double edge = sampler->corners ? 0 : 0.5;
    const double at = reflect((double)i, -edge, (double)last + edge);
    return (int64_t)clamp(at, 0, (double)last);
}

static void weigh(CpuSamplerMode mode, double rest, double *out) {
    const double a = CUBIC_A, r = rest, s = 1 - rest;
    if (mode == CPU_SAMPLER_NEAREST) {
        out[0] = 1;
    } else if (mode == CPU_SAMPLER_LINEAR) {
        out[0] = s;
        out[1] = r;
    } else {
        out[0] = ((a * (r + 1) - 5 * a) * (r + 1) + 8 * a) * (r + 1) - 4 * a;
        out[1] = ((a + 2) * r - (a + 3)) * r * r + 1;
        out[2] = ((a + 2) * s - (a + 3)) * s * s + 1;
        out[3] = ((a * (s + 1) - 5 * a) * (s + 1) + 8 * a) * (s + 1) - 4 * a;
    }
}

/* The taps of most points of most images: two by two elements, all of them inside. False: not such
 * a point. The results are those of the general way, without its calls of floor. */
static bool find_inner_taps(
    const CpuSampler *sampler, const double *x, int64_t *out_offsets, double *out_weights) {
    if (sampler->mode != CPU_SAMPLER_LINEAR || sampler->rank != 2) return false;
    if (!(x[0] >= 0 && x[0] < (double)(sampler->dims[0] - 1))) return false;
    if (!(x[1] >= 0 && x[1] < (double)(sampler->dims[1] - 1))) return false;
    const int64_t row = (int64_t)x[0], column = (int64_t)x[1], width = sampler->dims[1];
    const double down = x[0] - (double)row, right = x[1] - (double)column;
    out_offsets[0] = row * width + column;
    out_offsets[1] = out_offsets[0] + 1;
    out_offsets[2] = out_offsets[0] + width;
    out_offsets[3] = out_offsets[2] + 1;
    out_weights[0] = (1 - down) * (1 - right);
    out_weights[1] = (1 - down) * right;
    out_weights[2] = down * (1 - right);
    out_weights[3] = down * right;
    return true;
}

void cpu_sampler_taps(
    const CpuSampler *sampler, const double *x, int64_t *out_offsets, double *out_weights) {
    if (find_inner_taps(sampler, x, out_offsets, out_weights)) return;
    const uint32_t along = taps_along(sampler->mode);
    uint32_t count = 1;
    out_offsets[0] = 0;
    out_weights[0] = 1;
    for (uint32_t d = 0; d < sampler->rank; d++) {
        double weights[4];
        const bool nearest = sampler->mode == CPU_SAMPLER_NEAREST;
        const double at = bring_inside(sampler, d, nearest ? rint(x[d]) : x[d]);
        const double below = floor(at);
        const int64_t first = (int64_t)below - (sampler->mode == CPU_SAMPLER_CUBIC);
        weigh(sampler->mode, at - below, weights);
        /* each tap becomes several; from the last one on, so that none is overwritten before it is
         * read */
        for (uint32_t i = count; i-- > 0;) {
            const int64_t offset = out_offsets[i];
            const double weight = out_weights[i];
            for (uint32_t k = along; k-- > 0;) {
                const int64_t index = index_inside(sampler, d, first + k);
                const bool none = offset < 0 || index < 0;
                out_offsets[i * along + k] = none ? -1 : offset * sampler->dims[d] + index;
                out_weights[i * along + k] = weight * weights[k];
            }
        }
        count *= along;
    }
}

#define SUM(name, T)                                                                               \
    static inline __attribute__((always_inline)) void sum_##name(                                  \
        const CpuSamplerTaps *taps, uint32_t tap_count, int64_t count, const T *x, T *to) {        \
        const int64_t *offsets = taps->offsets;                                                    \
        const double *weights = taps->weights;                                                     \
        for (int64_t i = 0; i < count; i++) {                                                      \
            T sum = 0;                                                                             \
            for (uint32_t k = 0; k < tap_count; k++)                                               \
                sum += offsets[k] < 0 ? 0 : x[offsets[k]] * (T)weights[k];                         \
            to[i] = sum;                                                                           \
            offsets += tap_count;                                                                  \
            weights += tap_count;                                                                  \
        }                                                                                          \
    }                                                                                              \
    void cpu_sampler_sum_##name(                                                                   \
        const CpuSamplerTaps *taps, uint32_t tap_count, int64_t count, const T *x, T *to) {        \
        if (tap_count == 4) /* a constant: the inner loop is unrolled */                           \
            sum_##name(taps, 4, count, x, to);                                                     \
        else                                                                                       \
            sum_##name(taps, tap_count, count, x, to);                                             \
    }
SUM(f32, float)
SUM(f64, double)
