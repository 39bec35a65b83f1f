#pragma once
/* What a case's outputs must be. */
#include "base/error.h"
#include "vm/objects/value.h"

typedef struct SuiteTolerance {
    double relative, absolute; /* of elements of float types: |made - wanted| <= a + r * |wanted| */
} SuiteTolerance;

/* Kind, element types, shapes, elements; lists item by item. On any device. Errors: INTERNAL what
 * differs first. */
MUST_CHECK Error *suite_compare(
    const Value *made, const Value *wanted, const SuiteTolerance *tolerance);
/* The same bits. Errors: INTERNAL. */
MUST_CHECK Error *suite_compare_bits(const Value *made, const Value *wanted);
