#pragma once
/* What one call of an operator amounts to: arithmetic operations, and bytes read and written. By
 * its shapes alone, whatever kernel serves it; for people, never for choosing one. */
#include "kernels/operator/attributes.h"
#include "kernels/operator/plan.h"

typedef struct OperatorCall {
    const OperatorInfo *operator_info;
    const Attributes *attributes; /* checked */
    uint32_t input_count, output_count;
    const TensorSpec *inputs;  /* as the model has them, packed ones too */
    const TensorSpec *outputs; /* with the shapes that they got */
} OperatorCall;

typedef struct OperatorCost {
    double operations; /* a multiply-add is two */
    double bytes;      /* of inputs that a launch is given, and of outputs, each once */
} OperatorCost;

OperatorCost operator_cost(const OperatorCall *call);
