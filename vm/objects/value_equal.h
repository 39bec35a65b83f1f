#pragma once
/* Whether two values are the same: scalars by value, containers item by item, tensors by element
 * type, shape and bits, opaque objects by identity. */
#include "vm/objects/object.h"

enum { VALUE_EQUAL_PAIRS_MAX = 1 << 24 };

/* Shared parts are compared once per way to reach them. Errors: EXHAUSTED beyond
 * VALUE_EQUAL_PAIRS_MAX pairs; IO of a device. */
MUST_CHECK Error *value_equal(const Value *a, const Value *b, bool *out_equal);
