#pragma once
/* A tensor without its elements: element type, shape, layout. Plans and shape rules know this of
 * their inputs and outputs. Pure: plain data. */
#include <stdbool.h>
#include <stdint.h>

#include "kernels/tensor/dtype.h"
#include "kernels/tensor/shape.h"

typedef struct TensorSpec {
    bool present; /* false: an optional input that is absent; the other members are then 0 */
    DType dtype;
    uint32_t layout; /* 0 plain row-major; else the packed layout that pack_rule chose for this
                        constant */
    Shape shape;
} TensorSpec;
