#pragma once
/* Convolutions and pools the slow way, in double: what the kernels are compared with. */
#include "tests/kernels/kernel_call.h"

enum { REFERENCE_RANK_MAX = 3 };

/* A case: spatial sizes and the window, `rank` of each. */
typedef struct ConvCase {
    int64_t batch, groups, channels, filters; /* channels, filters: of one group */
    uint32_t rank;
    int64_t input[REFERENCE_RANK_MAX], kernel[REFERENCE_RANK_MAX], stride[REFERENCE_RANK_MAX];
    int64_t dilation[REFERENCE_RANK_MAX], begin[REFERENCE_RANK_MAX], end[REFERENCE_RANK_MAX];
} ConvCase;

Shape conv_reference_input(const ConvCase *conv);
Shape conv_reference_weights(const ConvCase *conv);
Shape conv_reference_output(const ConvCase *conv);
/* "{" first "dilations=[…], pads=[…], strides=[…], group=…}" into text. */
void conv_reference_attributes(const ConvCase *conv, const char *first, char *text, size_t size);
/* "{" first "dilations=[…], pads=[…], strides=[…], kernel_shape=[…]}" into text. */
void conv_reference_pool_attributes(
    const ConvCase *pool, const char *first, char *text, size_t size);
/* Without bias; released with free. */
double *conv_reference(const ConvCase *conv, const float *x, const float *w);
