#include "tests/kernels/conv_reference.h"

#include <stdio.h>
#include <stdlib.h>

Shape conv_reference_input(const ConvCase *conv) {
    Shape shape = {conv->rank + 2, {conv->batch, conv->groups * conv->channels}};
    for (uint32_t i = 0; i < conv->rank; i++) shape.dims[i + 2] = conv->input[i];
    return shape;
}

Shape conv_reference_weights(const ConvCase *conv) {
    Shape shape = {conv->rank + 2, {conv->groups * conv->filters, conv->channels}};
    for (uint32_t i = 0; i < conv->rank; i++) shape.dims[i + 2] = conv->kernel[i];
    return shape;
}

Shape conv_reference_output(const ConvCase *conv) {
    Shape shape = {conv->rank + 2, {conv->batch, conv->groups * conv->filters}};
    for (uint32_t i = 0; i < conv->rank; i++) {
        const int64_t room = conv->input[i] + conv->begin[i] + conv->end[i] -
                             (conv->kernel[i] - 1) * conv->dilation[i] - 1;
        shape.dims[i + 2] = room / conv->stride[i] + 1;
    }
    return shape;
}

static int print_list(
    char *text, size_t size, const char *name, const int64_t *a, const int64_t *b, uint32_t rank) {
    int at = snprintf(text, size, "%s=[", name);
    for (uint32_t i = 0; i < (b ? 2 * rank : rank); i++)
        at += snprintf(text + at, size - (size_t)at, "%s%lld", i ? ", " : "",
            (long long)(i < rank ? a[i] : b[i - rank]));
    at += snprintf(text + at, size - (size_t)at, "], ");
    return at;
}

static int print_window(const ConvCase *conv, const char *first, char *text, size_t size) {
    int at = snprintf(text, size, "{%s", first);
    at += print_list(text + at, size - (size_t)at, "dilations", conv->dilation, NULL, conv->rank);
    at += print_list(text + at, size - (size_t)at, "pads", conv->begin, conv->end, conv->rank);
    at += print_list(text + at, size - (size_t)at, "strides", conv->stride, NULL, conv->rank);
    return at;
}

void conv_reference_attributes(const ConvCase *conv, const char *first, char *text, size_t size) {
    const int at = print_window(conv, first, text, size);
    (void)snprintf(text + at, size - (size_t)at, "group=%lld}", (long long)conv->groups);
}

void conv_reference_pool_attributes(
    const ConvCase *pool, const char *first, char *text, size_t size) {
    int at = print_window(pool, first, text, size);
    at += print_list(text + at, size - (size_t)at, "kernel_shape", pool->kernel, NULL, pool->rank);
    memcpy(text + at - 2, "}", 2); /* over the last ", " */
}

/* One output: over all channels of its group and all kernel positions. */
static double sum_at(const ConvCase *conv, const float *x, const float *w, const int64_t *at) {
    const int64_t in =
        shape_product(&(Shape){3, {conv->input[0], conv->rank > 1 ? conv->input[1] : 1,
                                      conv->rank > 2 ? conv->input[2] : 1}},
            0, 3);
    int64_t positions = 1;
    for (uint32_t i = 0; i < conv->rank; i++) positions *= conv->kernel[i];
    double sum = 0;
    for (int64_t c = 0; c < conv->channels; c++)
        for (int64_t p = 0; p < positions; p++) {
            int64_t rest = p, offset = 0, step = 1;
            bool inside = true;
            for (uint32_t i = conv->rank; i-- > 0; rest /= conv->kernel[i]) {
                const int64_t y = at[i] * conv->stride[i] - conv->begin[i] +
                                  rest % conv->kernel[i] * conv->dilation[i];
                inside = inside && y >= 0 && y < conv->input[i];
                offset += y * step;
                step *= conv->input[i];
            }
            if (inside) sum += (double)x[c * in + offset] * (double)w[c * positions + p];
        }
    return sum;
}

double *conv_reference(const ConvCase *conv, const float *x, const float *w) {
    const Shape input = conv_reference_input(conv), weights = conv_reference_weights(conv);
    const Shape output = conv_reference_output(conv);
    const int64_t count = shape_count_unchecked(&output);
    const int64_t pixels = shape_product(&output, 2, output.rank);
    double *y = calloc((size_t)count + 1, sizeof(double));
    assert_non_null(y);
    for (int64_t i = 0; i < count; i++) {
        int64_t at[REFERENCE_RANK_MAX] = {0}, rest = i % pixels;
        for (uint32_t d = conv->rank; d-- > 0; rest /= output.dims[d + 2])
            at[d] = rest % output.dims[d + 2];
        const int64_t filter = i / pixels % output.dims[1], image = i / pixels / output.dims[1];
        const int64_t group = filter / conv->filters;
        y[i] = sum_at(conv,
            x + (image * conv->groups + group) * conv->channels *
                    shape_product(&input, 2, input.rank),
            w + filter * conv->channels * shape_product(&weights, 2, weights.rank), at);
    }
    return y;
}
