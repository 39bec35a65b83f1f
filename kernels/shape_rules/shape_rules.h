#pragma once
/* Shape rules: from input shapes, element types, attributes and, where a row says so, values, to
 * the outputs' shapes and element types. Pure: no state.
 *
 * Called through operator_infer, which has checked arity, presence and that needed values are
 * there. Everything a rule reads may be hostile: a rule answers INVALID (UNSUPPORTED for cases that
 * this version does not have), never asserts, never overflows. */
#include "kernels/operator/plan.h"

/* Upper bound on the products of an unsigned byte and a byte from -127 on whose sum fits 32
 * bits. */
enum { SHAPE_RULE_INT8_DEPTH_MAX = 1 << 16 };

#define OPERATOR(id, name, version, inputs, outputs, attributes, rule, kind, purity, in_place,     \
    tolerance, expansion)                                                                          \
    MUST_CHECK Error *shape_rule_##rule(PlanRequest *request);
#include "kernels/operator/operators.def"
#undef OPERATOR
