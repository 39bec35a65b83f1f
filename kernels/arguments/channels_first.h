#pragma once
/* Requests whose images are [N, spatial…, C], seen as ONNX has images: [N, C, spatial…]. What is
 * told of windows, groups and channels then holds for both. */
#include "kernels/operator/plan.h"

enum { CHANNELS_FIRST_INPUTS_MAX = 4 };

typedef struct ChannelsFirst {
    PlanRequest request; /* borrows attributes and values; its inputs are those below */
    TensorSpec inputs[CHANNELS_FIRST_INPUTS_MAX];
} ChannelsFirst;

/* [N, spatial…, C] to [N, C, spatial…]. Below rank 3 nothing changes. */
void channels_first_shape(const Shape *last, Shape *out);
void channels_last_shape(const Shape *first, Shape *out); /* and back */
/* Whether a convolution's images are so: FusedConv with channels_last. */
bool channels_last_is(const PlanRequest *request);
/* FusedConv (with channels_last), FusedPool and FusedLRN: the image, the residual and the first
 * output. Weights stay as they are: theirs is ONNX's order in any case. */
void channels_first_of(const PlanRequest *request, ChannelsFirst *out);
/* The pool that a FusedPool is. Errors: INVALID none, or one without its window. */
MUST_CHECK Error *channels_last_pool(const PlanRequest *request, OperatorId *out);
