#pragma once
/* Sliding windows of convolutions, pools and their inverses: attributes resolved against the
 * input's shape. Called by shape rules and kernels when they plan. Pure: no state. */
#include "kernels/operator/plan.h"

enum { WINDOW_RANK_MAX = SHAPE_RANK_MAX - 2 };

typedef struct Window {
    uint32_t rank; /* spatial dimensions: the input's dims 2 … */
    int64_t kernel[WINDOW_RANK_MAX];
    int64_t stride[WINDOW_RANK_MAX];
    int64_t dilation[WINDOW_RANK_MAX];
    int64_t pad_begin[WINDOW_RANK_MAX]; /* auto_pad resolved; never negative */
    int64_t pad_end[WINDOW_RANK_MAX];   /* as given; ceil_mode may read beyond it */
    int64_t input[WINDOW_RANK_MAX];
    int64_t output[WINDOW_RANK_MAX];
} Window;

/* How many elements of the input, padding included, so many neighbouring windows cover. */
static inline int64_t window_reach(const Window *window, uint32_t dimension, int64_t outputs) {
    return (outputs - 1) * window->stride[dimension] +
           (window->kernel[dimension] - 1) * window->dilation[dimension] + 1;
}
/* Resolves the window of a Conv, FusedConv, ConvInteger, QLinearConv, DeformConv, MaxPool,
 * AveragePool or LpPool request. Errors: INVALID. */
MUST_CHECK Error *window_of(const PlanRequest *request, Window *out);
/* How many kernel positions in one dimension an average counts, for a window whose first position
 * is at `corner` of the input: those inside the input, or those inside the input and its
 * padding. */
int64_t window_count_positions(
    const Window *window, uint32_t dimension, int64_t corner, bool with_padding);
/* Returns how much a step along each dimension adds to the index of an element within a plane of
 * the input; the first dimension is the outermost, or with column_major the innermost. */
void window_index_steps(
    const Window *window, bool column_major, int64_t out_steps[WINDOW_RANK_MAX]);
/* Resolves a ConvTranspose request: output and pads in the opposite direction. */
MUST_CHECK Error *window_of_transpose(const PlanRequest *request, Window *out);
/* Resolves a Col2Im request: the window that cut the image (input) into blocks (kernel), output
 * blocks along each dimension. */
MUST_CHECK Error *window_of_columns(const PlanRequest *request, Window *out);
/* Resolves a MaxUnpool request: output is the size before pooling, by output_shape if it is given,
 * else as the attributes determine. */
MUST_CHECK Error *window_of_unpool(const PlanRequest *request, Window *out);
