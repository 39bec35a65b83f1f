#pragma once
/* The cost of one call of an operator: arithmetic operations, and bytes read and written, from its
 * shapes alone; the kernel does not matter. Called by inline_cache.c and the command line's
 * profile; never used to choose a kernel. Pure: no state. */
#include "kernels/operator/attributes.h"
#include "kernels/operator/plan.h"

typedef struct OperatorCall {
    const OperatorInfo *operator_info;
    const Attributes *attributes; /* checked */
    uint32_t input_count, output_count;
    const TensorSpec *inputs;  /* as the model has them, also packed ones */
    const TensorSpec *outputs; /* with their final shapes */
} OperatorCall;

typedef struct OperatorCost {
    double operations; /* a multiply-add is two */
    double bytes;      /* of inputs that a launch receives, and of outputs, each once */
} OperatorCost;

OperatorCost operator_cost(const OperatorCall *call);
