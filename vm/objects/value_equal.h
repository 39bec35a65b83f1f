#pragma once
/* Compares two values: scalars by value, containers item by item, tensors by element type, shape
 * and bits, opaque objects by identity. Called by packed_builtins.c and the compiler. No state; any
 * thread. */
#include "vm/objects/object.h"

enum { VALUE_EQUAL_PAIRS_MAX = 1 << 24 };

/* A shared part is compared once for each way that leads to it. Errors: EXHAUSTED beyond
 * VALUE_EQUAL_PAIRS_MAX pairs; IO of a device. */
MUST_CHECK Error *value_equal(const Value *a, const Value *b, bool *out_equal);
