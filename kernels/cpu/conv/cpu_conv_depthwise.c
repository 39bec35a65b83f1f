#include "kernels/cpu/conv/cpu_conv_depthwise.h"

#include <assert.h>

#include "kernels/cpu/conv/cpu_plane.h"

bool cpu_conv_is_depthwise(const CpuConv *conv) {
    CpuPlane plane;
    return conv->channels == 1 && conv->filters <= 4 && cpu_plane_of(&conv->window, &plane);
}

/* ---- sums ---- */

/* Writes whole vectors of outputs: up to 15 sums beyond `width` are of bytes behind the row, and
 * unused. */
CPU_INLINE void sum_row_body(
    const CpuPlane *plane, const float *weights, const float *x, float *sums) {
    const int64_t stride = plane->stride, width = plane->width, count = plane->tap_count;
    const int64_t *taps = plane->taps;
    int64_t i = 0;
    if (stride == 1) {
        for (; i + CPU_VECTOR_LANES < width; i += 2 * CPU_VECTOR_LANES) {
            CpuF32x16 a = {0}, b = {0};
            for (int64_t t = 0; t < count; t++) {
                const float *from = x + taps[t] + i;
                a += cpu_f32x16_load(from) * weights[t];
                b += cpu_f32x16_load(from + CPU_VECTOR_LANES) * weights[t];
            }
            cpu_f32x16_store(sums + i, a);
            cpu_f32x16_store(sums + i + CPU_VECTOR_LANES, b);
        }
        for (; i < width; i += CPU_VECTOR_LANES) {
            CpuF32x16 a = {0};
            for (int64_t t = 0; t < count; t++) a += cpu_f32x16_load(x + taps[t] + i) * weights[t];
            cpu_f32x16_store(sums + i, a);
        }
    } else if (stride == 2) {
        for (; i < width; i += CPU_VECTOR_LANES) {
            CpuF32x16 a = {0};
            for (int64_t t = 0; t < count; t++)
                a += cpu_plane_even_lanes(x + taps[t] + 2 * i) * weights[t];
            cpu_f32x16_store(sums + i, a);
        }
    } else {
        for (; i < width; i++) {
            float sum = 0;
            for (int64_t t = 0; t < count; t++) sum += x[taps[t] + i * stride] * weights[t];
            sums[i] = sum;
        }
    }
}
CPU_VARIANTS(sum_row, (const CpuPlane *plane, const float *weights, const float *x, float *sums),
    (plane, weights, x, sums));

/* ---- bands ---- */

typedef struct Run {
    const CpuConv *conv;
    CpuConvBuffers buffers;
    CpuPlane plane;
    void (*sum_row)(const CpuPlane *plane, const float *weights, const float *x, float *sums);
} Run;

static void run_band(const Run *run, int64_t image, int64_t band_index) {
    const CpuConv *conv = run->conv;
    const CpuPlane *plane = &run->plane;
    const int64_t planes = conv->groups * conv->filters, filter = image % planes;
    const int64_t group = image / planes * conv->groups + filter / conv->filters;
    const int64_t first = band_index * plane->band_rows, left = plane->rows - first;
    const int64_t rows = left < plane->band_rows ? left : plane->band_rows;
    float band[CPU_PLANE_BAND_MAX], sums[CPU_PLANE_WIDTH_MAX + CPU_VECTOR_LANES];
    cpu_plane_fill(plane, run->buffers.x + group * conv->input_count, first, rows, 0, band);
    const float *weights = run->buffers.w + filter * conv->kernel_count;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = image * conv->output_count + (first + i) * plane->width;
        run->sum_row(plane, weights, band + i * plane->row_stride * plane->pitch, sums);
        conv->epilogue_row(&conv->epilogue, sums, plane->width,
            conv->has_bias ? run->buffers.bias + filter : NULL, 0,
            conv->has_residual ? run->buffers.residual + at : NULL, run->buffers.y + at);
    }
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    Run *run = context;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        TRY(kernel_stop_check());
        run_band(run, i / run->plane.bands, i % run->plane.bands);
    }
    return NULL;
}

Error *cpu_conv_depthwise_run(
    CpuDevice *device, const CpuConv *conv, const CpuConvBuffers *buffers, const Launch *launch) {
    Run run = {
        .conv = conv,
        .buffers = *buffers,
        .sum_row = sum_row_for(device->level),
    };
    const bool fits = cpu_plane_of(&conv->window, &run.plane);
    assert(fits); /* cpu_conv_is_depthwise has checked it */
    (void)fits;
    const int64_t cost = run.plane.band_rows * run.plane.width * conv->kernel_count / 8 + 64;
    return cpu_for_each(device, launch->threads,
        (uint64_t)(conv->batch * conv->groups * conv->filters * run.plane.bands),
        (uint64_t)(32768 / cost) + 1, run_units, &run);
}
