#pragma once
/* How far one array is from another. */
#include <stdbool.h>

#include "serialize/arrays/array_list.h"

typedef struct PrecisionErrors {
    double max_abs;
    double rms_relative; /* of the difference, to that of what is expected; where that is 0, of the
                            difference alone */
    bool rows;           /* floats, rank 2 or more, of several columns: argmax says something */
    double argmax;       /* the share of rows, along the last axis, whose largest is the same */
    bool whole;          /* integers: equal says something */
    double equal;        /* the share of elements that are the same */
} PrecisionErrors;

/* False where they cannot be compared: other shapes, types without numbers; got may be NULL. */
bool precision_compare(const NamedArray *expected, const NamedArray *got, PrecisionErrors *out);
