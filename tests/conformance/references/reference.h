#pragma once
/* What operators mean, once more: plain loops in double over whole tensors, written from ONNX's
 * text and sharing nothing with the kernels. */
#include "kernels/operator/attributes.h"
#include "kernels/operator/operator.h"
#include "kernels/tensor/shape.h"

enum { REFERENCE_INPUTS_MAX = 16, REFERENCE_OUTPUTS_MAX = 8 };

typedef struct ReferenceTensor {
    bool present;
    DType dtype;
    Shape shape;
    int64_t count;
    double *values; /* row-major */
} ReferenceTensor;

typedef struct ReferenceCall {
    const OperatorInfo *operator_info;
    const Attributes *attributes;
    uint32_t input_count, output_count;
    ReferenceTensor inputs[REFERENCE_INPUTS_MAX];
    /* Shapes and element types are given; the reference fills the values. */
    ReferenceTensor outputs[REFERENCE_OUTPUTS_MAX];
} ReferenceCall;

typedef void Reference(ReferenceCall *call);

#define CASE(operator_name, attributes, inputs, outputs, dtypes, reference)                        \
    Reference reference_##reference;
#include "tests/conformance/cases/cases.def"

/* Row-major index arithmetic. */
int64_t reference_flat(const Shape *shape, const int64_t *index);
/* False behind the last index. Starts from all zeros. */
bool reference_next(const Shape *shape, int64_t *inout_index);
/* The element of `from` that broadcasting puts at `index` of `shape`. */
double reference_broadcast(const ReferenceTensor *from, const Shape *shape, const int64_t *index);
/* Axis attribute or value within a rank. */
uint32_t reference_axis(int64_t axis, uint32_t rank);
/* The attribute in that place of the operator's declaration, where it is a float; else 0. */
double reference_parameter(const ReferenceCall *call, uint32_t index);
/* The call's activation over its output 0. */
void reference_activate(ReferenceCall *call);
double reference_gelu(double x, bool tanh_form);
