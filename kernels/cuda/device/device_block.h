#pragma once
/* What the threads of a block come to together: partial results in shared memory, folded in halves,
 * always in the same order. */
#include "kernels/cuda/device/device_language.h"

/* lanes[0] becomes all CUDA_THREADS of them; combine(a, b) is an expression. */
#define BLOCK_FOLD(T, lanes, combine)                                                              \
    for (uint32_t fold = CUDA_THREADS / 2; fold > 0; fold /= 2) {                                  \
        PHASE(t) {                                                                                 \
            if (t < fold) {                                                                        \
                const T a = (lanes)[t], b = (lanes)[t + fold];                                     \
                (lanes)[t] = (combine);                                                            \
            }                                                                                      \
        }                                                                                          \
    }
