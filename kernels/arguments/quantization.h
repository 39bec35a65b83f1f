#pragma once
/* The mapping of elements to scales and zero points, resolved and checked once for shape rules and
 * kernels. Called when they plan. Pure: no state. */
#include "kernels/operator/plan.h"

/* Elements are [outer, axis, inner]; those of one block along the axis and of one inner index share
 * a scale. Scales are [outer, ceil(axis / block), inner]; along outer and inner there is only one
 * unless `apart`. A single scale for all elements is one block of one axis. */
typedef struct QuantizationLayout {
    uint64_t outer, axis, inner;
    uint64_t block;
    uint64_t blocks; /* along the axis */
    bool apart;
} QuantizationLayout;

/* Resolves a QuantizeLinear or DequantizeLinear request. Errors: INVALID the scales do not fit the
 * input. */
MUST_CHECK Error *quantization_layout(const PlanRequest *request, QuantizationLayout *out);

/* The shape of scale or zero point `index` of a matrix operand, seen as [..., M, 1] (rows) or [...,
 * 1, N]: one for all, a vector with one for each row or column, or with the matrix's rank. *out
 * broadcasts to the matrix. Absent: a scalar. Errors: INVALID. */
MUST_CHECK Error *quantization_of_matrix(
    const PlanRequest *request, uint32_t index, uint32_t matrix, bool rows, Shape *out);
