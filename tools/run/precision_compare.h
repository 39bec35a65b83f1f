#pragma once
/* Measures how far one array is from another. Caller: precision_report.c. Pure: no state, any
 * thread. */
#include <stdbool.h>

#include "serialize/arrays/array_list.h"

typedef struct PrecisionErrors {
    double max_abs;
    /* of the difference, relative to that of the expected array; if that is 0, of the difference
     * alone */
    double rms_relative;
    bool rows;     /* floats, rank 2 or more, several columns: argmax is meaningful */
    double argmax; /* the share of rows along the last axis with the same largest element */
    bool whole;    /* integers: equal is meaningful */
    double equal;  /* the share of equal elements */
} PrecisionErrors;

/* Compares. Returns false for other shapes and for types without numbers; got may be NULL. */
bool precision_compare(const NamedArray *expected, const NamedArray *got, PrecisionErrors *out);
