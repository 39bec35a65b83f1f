#pragma once
/* Interpolation at any point of an image with any number of dimensions: the elements of a plane
 * that are read, and their weights. Called by cpu_deform_conv.c and cpu_grid_sample.c, on the
 * threads of a launch. Pure: no state. */
#include <stdbool.h>
#include <stdint.h>

#include "kernels/arguments/window.h"

typedef enum CpuSamplerMode {
    CPU_SAMPLER_LINEAR,
    CPU_SAMPLER_NEAREST,
    CPU_SAMPLER_CUBIC
} CpuSamplerMode;
typedef enum CpuSamplerPadding {
    CPU_SAMPLER_ZEROS,
    CPU_SAMPLER_BORDER,
    CPU_SAMPLER_REFLECTION
} CpuSamplerPadding;

enum {
    CPU_SAMPLER_TAPS_MAX = 4096, /* cubic in WINDOW_RANK_MAX dimensions */
    CPU_SAMPLER_POINTS_MAX = 64, /* computed together */
};

typedef struct CpuSampler {
    uint32_t rank;
    int64_t dims[WINDOW_RANK_MAX]; /* each at least 1 */
    CpuSamplerMode mode;
    CpuSamplerPadding padding;
    bool corners; /* reflects at the centers of the outermost elements, not at their edges */
} CpuSampler;

/* How many elements are read for a point: one, or two or four for each dimension. */
uint32_t cpu_sampler_tap_count(const CpuSampler *sampler);
/* How many points fit into CPU_SAMPLER_TAPS_MAX taps, and CPU_SAMPLER_POINTS_MAX. */
uint32_t cpu_sampler_block(const CpuSampler *sampler);
/* x: a coordinate for each dimension, in elements, of any value. Writes tap_count offsets within a
 * plane, -1 for a zero, and as many weights. */
void cpu_sampler_taps(
    const CpuSampler *sampler, const double *x, int64_t *out_offsets, double *out_weights);

/* Taps of a block of points, tap_count for each. */
typedef struct CpuSamplerTaps {
    int64_t offsets[CPU_SAMPLER_TAPS_MAX];
    double weights[CPU_SAMPLER_TAPS_MAX];
} CpuSamplerTaps;

/* to[i] = the weighted sum of the elements of point i in the plane x. */
void cpu_sampler_sum_f32(
    const CpuSamplerTaps *taps, uint32_t tap_count, int64_t count, const float *x, float *to);
void cpu_sampler_sum_f64(
    const CpuSamplerTaps *taps, uint32_t tap_count, int64_t count, const double *x, double *to);
