#pragma once
/* Combines the partial results of a block's threads: in shared memory, folded in halves, always in
 * the same order. Included by the kernels of lanes, reductions and rows; runs on the GPU. */
#include "kernels/cuda/device/device_language.h"

/* Folds all CUDA_THREADS lanes into lanes[0]; combine(a, b) is an expression. */
#define BLOCK_FOLD(T, lanes, combine)                                                              \
    for (uint32_t fold = CUDA_THREADS / 2; fold > 0; fold /= 2) {                                  \
        PHASE(t) {                                                                                 \
            if (t < fold) {                                                                        \
                const T a = (lanes)[t], b = (lanes)[t + fold];                                     \
                (lanes)[t] = (combine);                                                            \
            }                                                                                      \
        }                                                                                          \
    }
