#include "kernels/cpu/conv/cpu_conv_kernel.h"

#include <string.h>

enum {
    FILTERS_MAX = 252, /* filters of a unit: 63 KiB of sums on the stack */
    FILTERS_MIN = 84,
    UNITS_WANTED = 16,
    BLOCK_DEPTH = 128, /* gathered at a time: 32 KiB on the stack */
};

/* 0 for a <= 0 */
static int64_t divide_up(int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; }

/* The pixels of a panel in one row of the output. */
typedef struct Segment {
    int64_t column, count;           /* in the panel */
    int64_t first;                   /* innermost output coordinate */
    int64_t corner[WINDOW_RANK_MAX]; /* input coordinates of kernel position 0, may be < 0 */
} Segment;

typedef struct Panel {
    int64_t columns;
    uint32_t segment_count;
    Segment segments[CPU_MATMUL_PANEL];
} Panel;

static void cut_panel(const Window *window, int64_t first, int64_t columns, Panel *out) {
    const uint32_t last = window->rank - 1;
    out->columns = columns;
    out->segment_count = 0;
    for (int64_t column = 0; column < columns;) {
        Segment *segment = &out->segments[out->segment_count++];
        int64_t rest = first + column;
        segment->column = column;
        segment->first = rest % window->output[last];
        rest /= window->output[last];
        const int64_t left = window->output[last] - segment->first;
        segment->count = left < columns - column ? left : columns - column;
        segment->corner[last] = segment->first * window->stride[last] - window->pad_begin[last];
        for (uint32_t i = last; i-- > 0; rest /= window->output[i])
            segment->corner[i] =
                rest % window->output[i] * window->stride[i] - window->pad_begin[i];
        column += segment->count;
    }
}

/* Gathers rows k0 … k0 + depth - 1 of the matrix: kernel position by position, each with all
 * channels. */
static void gather(const CpuConv *conv, const float *x, int64_t k0, int64_t depth,
    const Panel *panel, float *block) {
    const Window *window = &conv->window;
    const uint32_t last = window->rank - 1;
    for (int64_t position = 0; position < conv->kernel_count; position++) {
        const int64_t first = divide_up(k0 - position, conv->kernel_count);
        const int64_t end = divide_up(k0 + depth - position, conv->kernel_count);
        if (first >= end) continue;
        int64_t shift[WINDOW_RANK_MAX], rest = position;
        for (uint32_t i = window->rank; i-- > 0; rest /= window->kernel[i])
            shift[i] = rest % window->kernel[i] * window->dilation[i];
        CpuGather rows = {
            .stride = window->stride[last],
            .size = window->input[last],
            .channels = end - first,
            .channel_step = conv->input_count,
            .to_step = conv->kernel_count * CPU_MATMUL_PANEL,
        };
        float *to = block + (first * conv->kernel_count + position - k0) * CPU_MATMUL_PANEL;
        for (uint32_t s = 0; s < panel->segment_count; s++) {
            const Segment *segment = &panel->segments[s];
            int64_t offset = first * conv->input_count, step = window->input[last];
            bool inside = true;
            for (uint32_t i = last; i-- > 0;) {
                const int64_t at = segment->corner[i] + shift[i];
                inside = inside && at >= 0 && at < window->input[i];
                offset += at * step;
                step *= window->input[i];
            }
            rows.from = inside ? x + offset : NULL;
            rows.start = segment->corner[last] + shift[last];
            rows.count = segment->count;
            rows.to = to + segment->column;
            conv->gather(&rows);
        }
    }
}

typedef struct Run {
    const CpuConv *conv;
    CpuConvBuffers buffers;
    int64_t panels, chunks;
} Run;

typedef struct Unit {
    int64_t filter, filters; /* of the group */
    int64_t pixel;
    const float *x, *w, *bias, *residual; /* of the group */
    float *y;
} Unit;

static void sum_unit(const CpuConv *conv, const Unit *unit, const Panel *panel, float *sums) {
    const int64_t depth = conv->channels * conv->kernel_count;
    float block[BLOCK_DEPTH * CPU_MATMUL_PANEL];
    CpuMatmulTile tile = {
        .rows = unit->filters,
        .columns = panel->columns,
        .a_row = depth,
        .a_column = 1,
        .b = block,
        .b_row = CPU_MATMUL_PANEL,
        .b_strip = CPU_MATMUL_STRIP,
        .out = sums,
        .out_row = CPU_MATMUL_PANEL,
    };
    if (depth == 0) memset(sums, 0, (size_t)unit->filters * CPU_MATMUL_PANEL * sizeof(float));
    for (int64_t k = 0; k < depth; k += BLOCK_DEPTH) {
        if (kernel_stop_ends()) return;
        tile.depth = depth - k < BLOCK_DEPTH ? depth - k : BLOCK_DEPTH;
        gather(conv, unit->x, k, tile.depth, panel, block);
        tile.a = unit->w + unit->filter * depth + k;
        tile.accumulate = k > 0;
        conv->micro(&tile);
    }
}

static void run_unit(const CpuConv *conv, const Unit *unit) {
    const int64_t pixels = conv->output_count;
    const int64_t left = pixels - unit->pixel;
    float sums[FILTERS_MAX * CPU_MATMUL_PANEL];
    Panel panel;
    cut_panel(
        &conv->window, unit->pixel, left < CPU_MATMUL_PANEL ? left : CPU_MATMUL_PANEL, &panel);
    sum_unit(conv, unit, &panel, sums);
    for (int64_t i = 0; i < unit->filters; i++) {
        const int64_t at = (unit->filter + i) * pixels + unit->pixel;
        conv->epilogue_row(&conv->epilogue, sums + i * CPU_MATMUL_PANEL, panel.columns,
            unit->bias ? unit->bias + unit->filter + i : NULL, 0,
            unit->residual ? unit->residual + at : NULL, unit->y + at);
    }
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    Run *run = context;
    const CpuConv *conv = run->conv;
    const CpuConvBuffers *buffers = &run->buffers;
    const int64_t depth = conv->channels * conv->kernel_count;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        TRY(kernel_stop_check());
        const int64_t image = i / (run->chunks * run->panels); /* batch × group */
        const int64_t group = image % conv->groups;
        const int64_t y = image * conv->filters * conv->output_count;
        Unit unit = {
            .filter = i / run->panels % run->chunks * conv->filters_per_unit,
            .pixel = i % run->panels * CPU_MATMUL_PANEL,
            .x = buffers->x + image * conv->channels * conv->input_count,
            .w = buffers->w + group * conv->filters * depth,
            .bias = conv->has_bias ? buffers->bias + group * conv->filters : NULL,
            .residual = conv->has_residual ? buffers->residual + y : NULL,
            .y = buffers->y + y,
        };
        const int64_t left = conv->filters - unit.filter;
        unit.filters = left < conv->filters_per_unit ? left : conv->filters_per_unit;
        run_unit(conv, &unit);
    }
    return NULL;
}

void cpu_conv_prepare(CpuConv *conv, CpuLevel level) {
    conv->micro = cpu_matmul_code_for(level).micro;
    conv->epilogue_row = cpu_epilogue_row_for(level);
    conv->gather = cpu_conv_gather_for(level);
    const int64_t panels = divide_up(conv->output_count, CPU_MATMUL_PANEL);
    const int64_t images = conv->batch * conv->groups * panels;
    /* with few panels the filters are cut, so that several threads have work */
    int64_t parts = divide_up(conv->filters, FILTERS_MAX);
    while (images * parts < UNITS_WANTED && divide_up(conv->filters, parts + 1) >= FILTERS_MIN)
        parts++;
    const int64_t even = parts > 0 ? divide_up(conv->filters, parts) : 1;
    conv->filters_per_unit = divide_up(even, 12) * 12;
    if (conv->filters_per_unit > FILTERS_MAX) conv->filters_per_unit = FILTERS_MAX;
}

Error *cpu_conv_run(
    CpuDevice *device, const CpuConv *conv, const CpuConvBuffers *buffers, const Launch *launch) {
    Run run = {
        .conv = conv,
        .buffers = *buffers,
        .panels = divide_up(conv->output_count, CPU_MATMUL_PANEL),
        .chunks = divide_up(conv->filters, conv->filters_per_unit),
    };
    static const float nothing = 0; /* stands for operands of size 0, which have no address */
    if (!run.buffers.x) run.buffers.x = &nothing;
    if (!run.buffers.w) run.buffers.w = &nothing;
    const int64_t units = conv->batch * conv->groups * run.panels * run.chunks;
    const int64_t cost =
        (conv->filters_per_unit + 16) * CPU_MATMUL_PANEL * conv->channels * conv->kernel_count + 1;
    return cpu_for_each(
        device, launch->threads, (uint64_t)units, (uint64_t)(2000000 / cost) + 1, run_units, &run);
}
