#pragma once
/* Outputs as classes: the largest elements of each row, with their places. Called by
 * inference_answer.c, on handler threads. Pure. */
#include "serialize/arrays/array_list.h"

/* Makes an array of texts "VALUE:INDEX", the largest value first; of equal values the lower index
 * comes first, and NaN comes last. A row is what one index of the leading axis holds; an array of
 * rank 0 or 1 is one row, and the texts then have one axis, else two.
 *
 * count: of classes in a row; a shorter row has fewer.
 * Errors: UNSUPPORTED the array does not hold numbers; INVALID too many classes in all. */
MUST_CHECK Error *classification_make(
    const NamedArray *array, uint64_t count, NamedArray *out_array);
