#include "kernels/cpu/conv/cpu_conv_slices.h"

CpuConvSlices cpu_conv_slices_cut(Window *window) {
    if (window->rank < 3)
        return (CpuConvSlices){.input = 1, .output = 1, .kernel = 1, .stride = 1, .dilation = 1};
    const CpuConvSlices slices = {
        .input = window->input[0],
        .output = window->output[0],
        .kernel = window->kernel[0],
        .stride = window->stride[0],
        .dilation = window->dilation[0],
        .pad = window->pad_begin[0],
    };
    int64_t *const all[] = {window->kernel, window->stride, window->dilation, window->pad_begin,
        window->pad_end, window->input, window->output};
    window->rank--;
    for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (uint32_t d = 0; d < window->rank; d++) all[i][d] = all[i][d + 1];
    return slices;
}

static int64_t steps_to(int64_t distance, int64_t step) { return (distance + step - 1) / step; }

CpuSlicesInside cpu_conv_slices_inside(const CpuConvSlices *slices, int64_t output) {
    const int64_t volume = output / slices->output, step = slices->dilation;
    const int64_t at = output % slices->output * slices->stride - slices->pad;
    CpuSlicesInside inside = {.first = volume * slices->input + at, .step = step};
    if (at < 0) inside.begin = steps_to(-at, step);
    if (at < slices->input) inside.end = steps_to(slices->input - at, step);
    if (inside.end > slices->kernel) inside.end = slices->kernel;
    if (inside.begin > inside.end) inside.begin = inside.end;
    return inside;
}
