#pragma once
/* What a plan and a shape rule know of a tensor without its elements: element type, shape, layout.
 */
#include <stdbool.h>
#include <stdint.h>

#include "kernels/tensor/dtype.h"
#include "kernels/tensor/shape.h"

typedef struct TensorSpec {
    bool present; /* false: an optional input that is not given; the rest is then 0 */
    DType dtype;
    uint32_t layout; /* 0 plain row-major; else the packed layout that pack_rule chose for this
                        constant */
    Shape shape;
} TensorSpec;
