#include "kernels/cpu/cpu_conv_depthwise.h"

#include "kernels/cpu/cpu_vector.h"

enum {
    TAPS_MAX = 128,  /* kernel positions */
    SUMS_MAX = 1024, /* outputs of a row at a time; the residual may lie where they go */
};

/* What one row of outputs adds up: taps that lie in the input's rows. */
typedef struct Taps {
    int64_t count;
    const float *row[TAPS_MAX]; /* of the input */
    int64_t start[TAPS_MAX];    /* which element of it output 0 reads; may be < 0 */
    float weight[TAPS_MAX];
} Taps;

/* x[0], x[2] … x[30], of two loads of which the second ends with the last one needed. */
CPU_INLINE CpuF32x16 even_lanes(const float *x) {
    return __builtin_shufflevector(cpu_f32x16_load(x), cpu_f32x16_load(x + 15), 0, 2, 4, 6, 8, 10,
        12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
}

/* y[i - base] for outputs first … last - 1 of a row, for all of which every tap lies inside. */
CPU_INLINE void inner_row_body(
    const Taps *taps, int64_t stride, int64_t first, int64_t last, int64_t base, float *y) {
    int64_t i = first;
    if (stride == 1) {
        for (; i + 2 * CPU_VECTOR_LANES <= last; i += 2 * CPU_VECTOR_LANES) {
            CpuF32x16 a = {0}, b = {0};
            for (int64_t t = 0; t < taps->count; t++) {
                const float *x = taps->row[t] + taps->start[t] + i;
                a += cpu_f32x16_load(x) * taps->weight[t];
                b += cpu_f32x16_load(x + CPU_VECTOR_LANES) * taps->weight[t];
            }
            cpu_f32x16_store(y + i - base, a);
            cpu_f32x16_store(y + i - base + CPU_VECTOR_LANES, b);
        }
        for (; i + CPU_VECTOR_LANES <= last; i += CPU_VECTOR_LANES) {
            CpuF32x16 a = {0};
            for (int64_t t = 0; t < taps->count; t++)
                a += cpu_f32x16_load(taps->row[t] + taps->start[t] + i) * taps->weight[t];
            cpu_f32x16_store(y + i - base, a);
        }
    } else if (stride == 2) {
        for (; i + CPU_VECTOR_LANES <= last; i += CPU_VECTOR_LANES) {
            CpuF32x16 a = {0};
            for (int64_t t = 0; t < taps->count; t++) {
                a += even_lanes(taps->row[t] + taps->start[t] + 2 * i) * taps->weight[t];
            }
            cpu_f32x16_store(y + i - base, a);
        }
    }
    /* the rest again ends with a whole vector, over outputs that already have these bits */
    if (i < last && last - first >= CPU_VECTOR_LANES && stride <= 2) {
        i = last - CPU_VECTOR_LANES;
        CpuF32x16 a = {0};
        for (int64_t t = 0; t < taps->count; t++) {
            const float *x = taps->row[t] + taps->start[t] + stride * i;
            const CpuF32x16 lanes = stride == 1 ? cpu_f32x16_load(x) : even_lanes(x);
            a += lanes * taps->weight[t];
        }
        cpu_f32x16_store(y + i - base, a);
        i = last;
    }
    for (; i < last; i++) {
        float sum = 0;
        for (int64_t t = 0; t < taps->count; t++)
            sum += taps->row[t][taps->start[t] + i * stride] * taps->weight[t];
        y[i - base] = sum;
    }
}
CPU_VARIANTS(inner_row,
    (const Taps *taps, int64_t stride, int64_t first, int64_t last, int64_t base, float *y),
    (taps, stride, first, last, base, y));

/* One output near the border: taps outside are left out. */
static float border_output(const Taps *taps, int64_t stride, int64_t size, int64_t i) {
    float sum = 0;
    for (int64_t t = 0; t < taps->count; t++) {
        const int64_t at = taps->start[t] + i * stride;
        if (at >= 0 && at < size) sum += taps->row[t][at] * taps->weight[t];
    }
    return sum;
}

typedef struct Run {
    const CpuConv *conv;
    CpuConvBuffers buffers;
    int64_t rows; /* of an output plane */
    void (*inner_row)(
        const Taps *taps, int64_t stride, int64_t first, int64_t last, int64_t base, float *y);
    const atomic_bool *abandon;
    atomic_bool abandoned;
} Run;

static void gather_taps(
    const CpuConv *conv, const float *x, const float *w, int64_t row, Taps *out) {
    const Window *window = &conv->window;
    const uint32_t last = window->rank - 1;
    int64_t corner[WINDOW_RANK_MAX];
    for (uint32_t i = last; i-- > 0; row /= window->output[i])
        corner[i] = row % window->output[i] * window->stride[i] - window->pad_begin[i];
    out->count = 0;
    for (int64_t position = 0; position < conv->kernel_count; position++) {
        int64_t rest = position / window->kernel[last];
        int64_t offset = 0, step = window->input[last];
        bool inside = true;
        for (uint32_t i = last; i-- > 0; rest /= window->kernel[i]) {
            const int64_t at = corner[i] + rest % window->kernel[i] * window->dilation[i];
            inside = inside && at >= 0 && at < window->input[i];
            offset += at * step;
            step *= window->input[i];
        }
        if (!inside) continue;
        out->row[out->count] = x + offset;
        out->start[out->count] =
            position % window->kernel[last] * window->dilation[last] - window->pad_begin[last];
        out->weight[out->count++] = w[position];
    }
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

/* Sums of the outputs begin … end - 1 of a row. */
static void sum_part(const Run *run, const Taps *taps, int64_t begin, int64_t end, float *sums) {
    const Window *window = &run->conv->window;
    const uint32_t last = window->rank - 1;
    const int64_t stride = window->stride[last], size = window->input[last];
    const int64_t reach = (window->kernel[last] - 1) * window->dilation[last];
    const int64_t room = size - 1 - reach + window->pad_begin[last];
    /* outputs whose first tap is not before the input and whose last is not behind it */
    const int64_t inner = clamp((window->pad_begin[last] + stride - 1) / stride, begin, end);
    const int64_t inner_end = clamp(room < 0 ? 0 : room / stride + 1, inner, end);
    for (int64_t i = begin; i < inner; i++) sums[i - begin] = border_output(taps, stride, size, i);
    run->inner_row(taps, stride, inner, inner_end, begin, sums);
    for (int64_t i = inner_end; i < end; i++)
        sums[i - begin] = border_output(taps, stride, size, i);
}

static void run_row(const Run *run, int64_t plane, int64_t row) {
    const CpuConv *conv = run->conv;
    const int64_t width = conv->window.output[conv->window.rank - 1];
    const int64_t planes = conv->groups * conv->filters;
    const int64_t filter = plane % planes, image = plane / planes;
    const int64_t group = filter / conv->filters;
    Taps taps;
    gather_taps(conv, run->buffers.x + (image * conv->groups + group) * conv->input_count,
        run->buffers.w + filter * conv->kernel_count, row, &taps);
    for (int64_t begin = 0; begin < width; begin += SUMS_MAX) {
        const int64_t end = clamp(width, 0, begin + SUMS_MAX);
        const int64_t at = plane * conv->output_count + row * width + begin;
        float sums[SUMS_MAX];
        sum_part(run, &taps, begin, end, sums);
        conv->epilogue_row(&conv->epilogue, sums, end - begin,
            conv->has_bias ? run->buffers.bias + filter : NULL, 0,
            conv->has_residual ? run->buffers.residual + at : NULL, run->buffers.y + at);
    }
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    Run *run = context;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        if (run->abandon && i % run->rows == 0 &&
            atomic_load_explicit(run->abandon, memory_order_relaxed)) {
            atomic_store_explicit(&run->abandoned, true, memory_order_relaxed);
            return NULL;
        }
        run_row(run, i / run->rows, i % run->rows);
    }
    return NULL;
}

bool cpu_conv_is_depthwise(const CpuConv *conv) {
    return conv->channels == 1 && conv->filters <= 4 && conv->kernel_count <= TAPS_MAX &&
           conv->input_count > 0;
}

Error *cpu_conv_depthwise_run(CpuDevice *device, const CpuConv *conv, const CpuConvBuffers *buffers,
    const Launch *launch, bool *out_abandoned) {
    const int64_t width = conv->window.output[conv->window.rank - 1];
    Run run = {
        .conv = conv,
        .buffers = *buffers,
        .rows = conv->output_count / width,
        .inner_row = inner_row_for(device->level),
        .abandon = launch->abandon,
    };
    atomic_init(&run.abandoned, false);
    const int64_t cost = width * conv->kernel_count / 8 + 64;
    TRY(cpu_for_each(device, launch->threads,
        (uint64_t)(conv->batch * conv->groups * conv->filters * run.rows),
        (uint64_t)(32768 / cost) + 1, run_units, &run));
    if (atomic_load_explicit(&run.abandoned, memory_order_relaxed)) *out_abandoned = true;
    return NULL;
}
