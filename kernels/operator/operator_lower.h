#pragma once
/* Which operators compute with weights of fewer bits, derived from lower_operators.def. */
#include "kernels/tensor/dtype.h"
#include "kernels/operator/operator.h"

typedef struct OperatorLower {
    OperatorId id, of; /* of: the same with weights of float32 */
    DType weights;
} OperatorLower;

/* NULL: it is none of them. */
const OperatorLower *operator_lower_get(OperatorId id);
/* OPERATOR_NONE: there is none. */
OperatorId operator_lower_find(OperatorId of, DType weights);
/* What it is with weights of float32; itself if it is none of them. */
OperatorId operator_lower_of(OperatorId id);
