/* Conv and FusedConv of float64: rows of outputs add up the channels, one kernel position after the
 * other, without fused multiply-adds. */
#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/matmul/cpu_matmul_epilogue.h"
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/arguments/channels_first.h"
#include "kernels/arguments/window.h"

enum { SUMS_MAX = 512 }; /* outputs of a row at a time */

/* sums[i] += weight * x[start + i * stride] for i < count */
CPU_INLINE void add_tap_body(
    const double *x, int64_t stride, double weight, int64_t count, double *sums) {
    if (stride == 1)
        for (int64_t i = 0; i < count; i++) sums[i] += weight * x[i];
    else
        for (int64_t i = 0; i < count; i++) sums[i] += weight * x[i * stride];
}
CPU_VARIANTS(add_tap, (const double *x, int64_t stride, double weight, int64_t count, double *sums),
    (x, stride, weight, count, sums));

typedef struct WideConv {
    Window window;
    int64_t planes, groups, channels, filters; /* planes: N × M; channels, filters: of a group */
    int64_t input_count, output_count, kernel_count, rows;
    bool has_bias, has_residual;
    CpuEpilogue epilogue;
    CpuEpilogueRowF64 *epilogue_row;
    void (*add_tap)(const double *x, int64_t stride, double weight, int64_t count, double *sums);
} WideConv;

typedef struct Run {
    const WideConv *conv;
    const double *x, *w, *bias, *residual;
    double *y;
} Run;

/* Computes the offset of the input row that a kernel position reads. False: the row lies in the
 * padding. */
static bool row_offset(const Window *window, int64_t row, int64_t position, int64_t *out) {
    const uint32_t last = window->rank - 1;
    int64_t offset = 0, step = window->input[last];
    position /= window->kernel[last];
    for (uint32_t i = last; i-- > 0;) {
        const int64_t at = row % window->output[i] * window->stride[i] - window->pad_begin[i] +
                           position % window->kernel[i] * window->dilation[i];
        if (at < 0 || at >= window->input[i]) return false;
        offset += at * step;
        step *= window->input[i];
        row /= window->output[i];
        position /= window->kernel[i];
    }
    *out = offset;
    return true;
}

static int64_t steps_below(int64_t from, int64_t end, int64_t stride, int64_t count) {
    const int64_t steps = from >= end ? 0 : (end - from + stride - 1) / stride;
    return steps < count ? steps : count;
}

/* Outputs first … first + count - 1 of a row. */
static void sum_part(const WideConv *conv, const double *x, const double *w, int64_t row,
    int64_t first, int64_t count, double *sums) {
    const Window *window = &conv->window;
    const uint32_t last = window->rank - 1;
    const int64_t stride = window->stride[last];
    for (int64_t i = 0; i < count; i++) sums[i] = 0;
    KernelStopMeter meter = {0};
    for (int64_t k = 0; k < conv->channels * conv->kernel_count; k++) {
        if (kernel_stop_ends_after(&meter, (uint64_t)count + 16)) return;
        const int64_t position = k % conv->kernel_count;
        int64_t offset;
        if (!row_offset(window, row, position, &offset)) continue;
        const int64_t start = first * stride - window->pad_begin[last] +
                              position % window->kernel[last] * window->dilation[last];
        const int64_t begin = steps_below(start, 0, stride, count);
        const int64_t end = steps_below(start, window->input[last], stride, count);
        if (begin < end)
            conv->add_tap(
                x + k / conv->kernel_count * conv->input_count + offset + start + begin * stride,
                stride, w[k], end - begin, sums + begin);
    }
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const WideConv *conv = run->conv;
    const int64_t width = conv->window.output[conv->window.rank - 1];
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        const int64_t plane = i / conv->rows, row = i % conv->rows;
        const int64_t filter = plane % (conv->groups * conv->filters);
        const int64_t image = plane / (conv->groups * conv->filters);
        const int64_t group = filter / conv->filters;
        const double *x =
            run->x + (image * conv->groups + group) * conv->channels * conv->input_count;
        const double *w = run->w + filter * conv->channels * conv->kernel_count;
        for (int64_t first = 0; first < width; first += SUMS_MAX) {
            const int64_t count = width - first < SUMS_MAX ? width - first : SUMS_MAX;
            const int64_t at = plane * conv->output_count + row * width + first;
            double sums[SUMS_MAX];
            sum_part(conv, x, w, row, first, count, sums);
            conv->epilogue_row(&conv->epilogue, sums, count, run->bias ? run->bias + filter : NULL,
                0, run->residual ? run->residual + at : NULL, run->y + at);
        }
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const WideConv *conv = opaque;
    if (conv->planes * conv->output_count == 0) return NULL;
    static const double nothing = 0; /* stands for operands of size 0, which have no address */
    const void *x = call->inputs[0], *w = call->inputs[1];
    Run run = {conv, x ? x : &nothing, w ? w : &nothing,
        conv->has_bias ? (const void *)call->inputs[2] : NULL,
        conv->has_residual ? (const void *)call->inputs[3] : NULL, (void *)call->outputs[0]};
    const int64_t cost = conv->output_count / conv->rows * conv->channels * conv->kernel_count + 1;
    return cpu_for_each(call->device, call->launch->threads, (uint64_t)(conv->planes * conv->rows),
        (uint64_t)(65536 / cost) + 1, run_units, &run);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    const Shape *x = &request->inputs[0].shape, *w = &request->inputs[1].shape;
    const Shape *y = &request->outputs[0].shape;
    if (channels_last_is(request)) return cpu_decline(out);
    WideConv conv = {
        .planes = shape_product(y, 0, 2),
        .groups = attributes_int(request->attributes, "group"),
        .channels = w->dims[1],
        .input_count = shape_product(x, 2, x->rank),
        .output_count = shape_product(y, 2, y->rank),
        .kernel_count = shape_product(w, 2, w->rank),
        .rows = shape_product(y, 2, y->rank - 1),
        .has_bias = request->input_count > 2 && request->inputs[2].present,
        .has_residual = request->input_count > 3 && request->inputs[3].present,
        .epilogue_row = cpu_epilogue_row_f64_for(level),
        .add_tap = add_tap_for(level),
    };
    conv.filters = w->dims[0] / conv.groups;
    TRY(window_of(request, &conv.window));
    TRY(cpu_epilogue_of(request, level, DTYPE_FLOAT64, &conv.epilogue));
    void *state;
    TRY(cpu_float_plan_create(
        device, request, "cpu.conv_wide", sizeof(WideConv), run, out, &state));
    *(WideConv *)state = conv;
    return NULL;
}

const Kernel cpu_conv_wide[] = {
    {OPERATOR_CONV, DTYPE_BIT(DTYPE_FLOAT64), plan, "cpu.conv_wide", KERNEL_PORTABLE},
    {OPERATOR_FUSED_CONV, DTYPE_BIT(DTYPE_FLOAT64), plan, "cpu.conv_wide", KERNEL_PORTABLE},
    KERNELS_END,
};
