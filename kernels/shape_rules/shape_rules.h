#pragma once
/* Shape rules: from input shapes, element types, attributes and, where a row says so, values, to
 * the outputs' shapes and element types.
 *
 * Called through operator_infer, which has checked arity, presence and that needed values are
 * there. Everything a rule reads may be hostile: it answers INVALID (UNSUPPORTED for what this
 * version does not do), never asserts, never overflows. */
#include "kernels/operator/plan.h"

/* Products of a byte without a sign and one from -127 on whose sum fits 32 bits. */
enum { SHAPE_RULE_INT8_DEPTH_MAX = 1 << 16 };

#define OPERATOR(id, name, version, inputs, outputs, attributes, rule, kind, purity, in_place,     \
    tolerance, expansion)                                                                          \
    MUST_CHECK Error *shape_rule_##rule(PlanRequest *request);
#include "kernels/operator/operators.def"
#undef OPERATOR
