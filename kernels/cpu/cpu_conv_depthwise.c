#include "kernels/cpu/cpu_conv_depthwise.h"

#include <string.h>

#include "kernels/cpu/cpu_vector.h"

enum {
    TAPS_MAX = 128,    /* kernel positions */
    BAND_MAX = 12288,  /* floats of input rows on the stack: 48 KiB */
    WIDTH_MAX = 2048,  /* outputs of a row, kept aside: the residual may lie where they go */
    BAND_ROWS_MAX = 32 /* output rows of a band */
};

/* How the last two dimensions are cut; a single one has one row. */
typedef struct Plane {
    int64_t rows, width, input_rows, input_width;
    int64_t row_stride, stride, row_pad, pad;
    int64_t kernel_rows, kernel_width, row_dilation, dilation;
    int64_t pitch;     /* floats of a padded row: what whole vectors of outputs read */
    int64_t band_rows; /* output rows of a band */
} Plane;

static int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/* Input rows that `rows` output rows read. */
static int64_t rows_read(const Plane *plane, int64_t rows) {
    return (rows - 1) * plane->row_stride + (plane->kernel_rows - 1) * plane->row_dilation + 1;
}

static Plane plane_of(const Window *window) {
    const uint32_t x = window->rank - 1;
    Plane plane = {
        .rows = 1,
        .width = window->output[x],
        .input_rows = 1,
        .input_width = window->input[x],
        .row_stride = 1,
        .stride = window->stride[x],
        .pad = window->pad_begin[x],
        .kernel_rows = 1,
        .kernel_width = window->kernel[x],
        .row_dilation = 1,
        .dilation = window->dilation[x],
    };
    if (window->rank == 2) {
        plane.rows = window->output[0], plane.input_rows = window->input[0];
        plane.row_stride = window->stride[0], plane.row_pad = window->pad_begin[0];
        plane.kernel_rows = window->kernel[0], plane.row_dilation = window->dilation[0];
    }
    /* the second load of a vector by steps of 2 ends one element before two whole ones */
    plane.pitch = round_up(plane.width, CPU_VECTOR_LANES) * plane.stride +
                  (plane.kernel_width - 1) * plane.dilation;
    plane.band_rows = plane.rows < BAND_ROWS_MAX ? plane.rows : BAND_ROWS_MAX;
    while (plane.band_rows > 1 && rows_read(&plane, plane.band_rows) * plane.pitch > BAND_MAX)
        plane.band_rows--;
    return plane;
}

bool cpu_conv_is_depthwise(const CpuConv *conv) {
    if (conv->channels != 1 || conv->filters > 4 || conv->kernel_count > TAPS_MAX ||
        conv->window.rank > 2)
        return false;
    const Window *window = &conv->window;
    for (uint32_t i = 0; i < window->rank; i++) /* nothing below overflows, and not for nothing */
        if (window->output[i] == 0 || window->input[i] == 0 || window->stride[i] > BAND_MAX ||
            window->dilation[i] > BAND_MAX || window->output[i] > INT32_MAX)
            return false;
    const Plane plane = plane_of(window);
    return plane.width <= WIDTH_MAX && rows_read(&plane, 1) * plane.pitch <= BAND_MAX;
}

/* ---- sums ---- */

typedef struct Taps {
    int64_t count;
    int64_t offset[TAPS_MAX]; /* from output 0's corner in the band */
    float weight[TAPS_MAX];
} Taps;

/* x[0], x[2] … x[30], of two loads of which the second ends with the last one needed. */
CPU_INLINE CpuF32x16 even_lanes(const float *x) {
    return __builtin_shufflevector(cpu_f32x16_load(x), cpu_f32x16_load(x + 15), 0, 2, 4, 6, 8, 10,
        12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
}

/* Whole vectors of outputs: up to 15 more than `width`, of whatever the band holds there. */
CPU_INLINE void sum_row_body(
    const Taps *taps, const float *x, int64_t stride, int64_t width, float *sums) {
    int64_t i = 0;
    if (stride == 1) {
        for (; i + CPU_VECTOR_LANES < width; i += 2 * CPU_VECTOR_LANES) {
            CpuF32x16 a = {0}, b = {0};
            for (int64_t t = 0; t < taps->count; t++) {
                const float *from = x + taps->offset[t] + i;
                a += cpu_f32x16_load(from) * taps->weight[t];
                b += cpu_f32x16_load(from + CPU_VECTOR_LANES) * taps->weight[t];
            }
            cpu_f32x16_store(sums + i, a);
            cpu_f32x16_store(sums + i + CPU_VECTOR_LANES, b);
        }
        for (; i < width; i += CPU_VECTOR_LANES) {
            CpuF32x16 a = {0};
            for (int64_t t = 0; t < taps->count; t++)
                a += cpu_f32x16_load(x + taps->offset[t] + i) * taps->weight[t];
            cpu_f32x16_store(sums + i, a);
        }
    } else if (stride == 2) {
        for (; i < width; i += CPU_VECTOR_LANES) {
            CpuF32x16 a = {0};
            for (int64_t t = 0; t < taps->count; t++)
                a += even_lanes(x + taps->offset[t] + 2 * i) * taps->weight[t];
            cpu_f32x16_store(sums + i, a);
        }
    } else {
        for (; i < width; i++) {
            float sum = 0;
            for (int64_t t = 0; t < taps->count; t++)
                sum += x[taps->offset[t] + i * stride] * taps->weight[t];
            sums[i] = sum;
        }
    }
}
CPU_VARIANTS(sum_row,
    (const Taps *taps, const float *x, int64_t stride, int64_t width, float *sums),
    (taps, x, stride, width, sums));

/* ---- bands ---- */

typedef struct Run {
    const CpuConv *conv;
    CpuConvBuffers buffers;
    Plane plane;
    int64_t bands; /* of a plane */
    void (*sum_row)(const Taps *taps, const float *x, int64_t stride, int64_t width, float *sums);
    const atomic_bool *abandon;
    atomic_bool abandoned;
} Run;

/* Input rows from `first` on (it may be < 0), zeros around them. */
static void fill_band(
    const Plane *plane, const float *x, int64_t first, int64_t rows, float *band) {
    int64_t inside = plane->pitch - plane->pad;
    if (inside > plane->input_width) inside = plane->input_width;
    for (int64_t i = 0; i < rows; i++, band += plane->pitch) {
        const int64_t row = first + i;
        memset(band, 0, (size_t)plane->pitch * sizeof(float));
        if (row >= 0 && row < plane->input_rows && inside > 0)
            memcpy(band + plane->pad, x + row * plane->input_width, (size_t)inside * sizeof(float));
    }
}

static void set_taps(const Plane *plane, const float *w, Taps *out) {
    out->count = 0;
    for (int64_t i = 0; i < plane->kernel_rows; i++)
        for (int64_t j = 0; j < plane->kernel_width; j++) {
            out->offset[out->count] = i * plane->row_dilation * plane->pitch + j * plane->dilation;
            out->weight[out->count] = w[out->count];
            out->count++;
        }
}

static void run_band(const Run *run, int64_t image, int64_t band_index) {
    const CpuConv *conv = run->conv;
    const Plane *plane = &run->plane;
    const int64_t planes = conv->groups * conv->filters, filter = image % planes;
    const int64_t group = image / planes * conv->groups + filter / conv->filters;
    const int64_t first = band_index * plane->band_rows, left = plane->rows - first;
    const int64_t rows = left < plane->band_rows ? left : plane->band_rows;
    float band[BAND_MAX], sums[WIDTH_MAX + CPU_VECTOR_LANES];
    fill_band(plane, run->buffers.x + group * conv->input_count,
        first * plane->row_stride - plane->row_pad, rows_read(plane, rows), band);
    Taps taps;
    set_taps(plane, run->buffers.w + filter * conv->kernel_count, &taps);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = image * conv->output_count + (first + i) * plane->width;
        run->sum_row(
            &taps, band + i * plane->row_stride * plane->pitch, plane->stride, plane->width, sums);
        conv->epilogue_row(&conv->epilogue, sums, plane->width,
            conv->has_bias ? run->buffers.bias + filter : NULL, 0,
            conv->has_residual ? run->buffers.residual + at : NULL, run->buffers.y + at);
    }
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    Run *run = context;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        if (run->abandon && atomic_load_explicit(run->abandon, memory_order_relaxed)) {
            atomic_store_explicit(&run->abandoned, true, memory_order_relaxed);
            return NULL;
        }
        run_band(run, i / run->bands, i % run->bands);
    }
    return NULL;
}

Error *cpu_conv_depthwise_run(CpuDevice *device, const CpuConv *conv, const CpuConvBuffers *buffers,
    const Launch *launch, bool *out_abandoned) {
    Run run = {
        .conv = conv,
        .buffers = *buffers,
        .plane = plane_of(&conv->window),
        .sum_row = sum_row_for(device->level),
        .abandon = launch->abandon,
    };
    atomic_init(&run.abandoned, false);
    run.bands = (run.plane.rows + run.plane.band_rows - 1) / run.plane.band_rows;
    const int64_t cost = run.plane.band_rows * run.plane.width * conv->kernel_count / 8 + 64;
    TRY(cpu_for_each(device, launch->threads,
        (uint64_t)(conv->batch * conv->groups * conv->filters * run.bands),
        (uint64_t)(32768 / cost) + 1, run_units, &run));
    if (atomic_load_explicit(&run.abandoned, memory_order_relaxed)) *out_abandoned = true;
    return NULL;
}
