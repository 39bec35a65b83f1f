#include "kernels/cpu/cpu_conv_window.h"

#include <string.h>

static int64_t at_or(const int64_t *list, uint32_t count, uint32_t index, int64_t missing) {
    return list && index < count ? list[index] : missing;
}

/* What the windows need beyond the padded side, halved; upper: the larger half at the end. */
static void pad_evenly(CpuWindow *window, uint32_t i, int64_t steps, int64_t size, bool upper) {
    int64_t total =
        (steps - 1) * window->stride[i] + (window->kernel[i] - 1) * window->dilation[i] + 1 - size;
    if (total < 0) total = 0;
    window->pad_begin[i] = upper ? total / 2 : total - total / 2;
    window->pad_end[i] = total - window->pad_begin[i];
}

Error *cpu_window_of(const Attributes *attributes, const Shape *input, const Shape *output,
    const int64_t *kernel, bool transposed, CpuWindow *out) {
    CpuWindow window = {
        .rank = input->rank - 2, .input_count = 1, .output_count = 1, .kernel_count = 1};
    if (input->rank < 3 || output->rank != input->rank)
        FAIL(INVALID, "a window needs at least one spatial dimension");
    uint32_t dilation_count, pad_count, stride_count;
    const int64_t *dilations = attributes_ints(attributes, "dilations", &dilation_count);
    const int64_t *pads = attributes_ints(attributes, "pads", &pad_count);
    const int64_t *strides = attributes_ints(attributes, "strides", &stride_count);
    const char *auto_pad = attributes_text(attributes, "auto_pad");
    const bool upper = strcmp(auto_pad, "SAME_UPPER") == 0;
    bool even = upper || strcmp(auto_pad, "SAME_LOWER") == 0;
    uint32_t extra_count = 0;
    const int64_t *extra =
        transposed ? attributes_ints(attributes, "output_padding", &extra_count) : NULL;
    if (transposed && attributes_has(attributes, "output_shape")) even = true;
    for (uint32_t i = 0; i < window.rank; i++) {
        window.input[i] = input->dims[i + 2];
        window.output[i] = output->dims[i + 2];
        window.kernel[i] = kernel[i];
        window.stride[i] = at_or(strides, stride_count, i, 1);
        window.dilation[i] = at_or(dilations, dilation_count, i, 1);
        if (even && transposed) {
            pad_evenly(&window, i, window.input[i],
                window.output[i] - at_or(extra, extra_count, i, 0), upper);
        } else if (even) {
            pad_evenly(&window, i, window.output[i], window.input[i], upper);
        } else if (strcmp(auto_pad, "VALID") != 0) {
            window.pad_begin[i] = at_or(pads, pad_count, i, 0);
            window.pad_end[i] = at_or(pads, pad_count, i + window.rank, 0);
        }
        window.input_count *= window.input[i];
        window.output_count *= window.output[i];
        window.kernel_count *= window.kernel[i];
    }
    *out = window;
    return NULL;
}

bool cpu_window_is_pointwise(const CpuWindow *window) {
    for (uint32_t i = 0; i < window->rank; i++)
        if (window->kernel[i] != 1 || window->stride[i] != 1 || window->pad_begin[i] != 0 ||
            window->pad_end[i] != 0)
            return false;
    return true;
}
