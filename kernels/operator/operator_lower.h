#pragma once
/* The operators that compute with weights of fewer bits, derived from lower_operators.def. Used by
 * the compiler's lower_precision pass, the cpu's kernels and the expansions. Pure: constant
 * tables. */
#include "kernels/tensor/dtype.h"
#include "kernels/operator/operator.h"

typedef struct OperatorLower {
    OperatorId id, of; /* of: the operator with weights of float32 */
    DType weights;
} OperatorLower;

/* NULL: the operator is none of them. */
const OperatorLower *operator_lower_get(OperatorId id);
/* The operator with such weights; OPERATOR_NONE: there is none. */
OperatorId operator_lower_find(OperatorId of, DType weights);
/* The operator with weights of float32; id itself if it is none of them. */
OperatorId operator_lower_of(OperatorId id);
