#pragma once
/* Converts windows to the kernels' parameters. Called by cuda_conv.c and cuda_pool.c. Pure: no
 * state. */
#include <string.h>

#include "kernels/cuda/planners/cuda_internal.h"
#include "kernels/arguments/window.h"

static inline CudaWindow cuda_window_of(const Window *window) {
    CudaWindow made = {.rank = window->rank};
    memcpy(made.kernel, window->kernel, sizeof made.kernel);
    memcpy(made.stride, window->stride, sizeof made.stride);
    memcpy(made.dilation, window->dilation, sizeof made.dilation);
    memcpy(made.pad_begin, window->pad_begin, sizeof made.pad_begin);
    memcpy(made.pad_end, window->pad_end, sizeof made.pad_end);
    memcpy(made.input, window->input, sizeof made.input);
    memcpy(made.output, window->output, sizeof made.output);
    return made;
}
