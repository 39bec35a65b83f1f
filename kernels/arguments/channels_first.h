#pragma once
/* Shows requests whose images are [N, spatial…, C] in ONNX's order [N, C, spatial…], so that the
 * functions on windows, groups and channels work for both. Called by shape rules and kernels when
 * they plan. Pure: no state. */
#include "kernels/operator/plan.h"

enum { CHANNELS_FIRST_INPUTS_MAX = 9 };

typedef struct ChannelsFirst {
    PlanRequest request; /* borrows attributes and values; its inputs are those below */
    TensorSpec inputs[CHANNELS_FIRST_INPUTS_MAX];
} ChannelsFirst;

/* [N, spatial…, C] to [N, C, spatial…]. Below rank 3 nothing changes. */
void channels_first_shape(const Shape *last, Shape *out);
void channels_last_shape(const Shape *first, Shape *out); /* and back */
/* Whether a convolution's images have that order: FusedConv and
 * FusedQLinearConv with channels_last. */
bool channels_last_is(const PlanRequest *request);
/* Converts a FusedConv or FusedQLinearConv (with channels_last), FusedPool or FusedLRN request: the
 * image, the residual and the first output. Weights are unchanged, since they are in ONNX's order
 * in any case. */
void channels_first_of(const PlanRequest *request, ChannelsFirst *out);
/* Finds the pool operator of a FusedPool. Errors: INVALID none, or one without its window. */
MUST_CHECK Error *channels_last_pool(const PlanRequest *request, OperatorId *out);
