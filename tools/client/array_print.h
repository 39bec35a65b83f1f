#pragma once
/* Named arrays for people and as JSON. An array of at most ARRAY_PRINT_WHOLE_MAX elements is
 * printed whole, a larger one as its least, greatest and mean element and the number of NaNs.
 * Callers: output_show.c. Pure: no state, any thread. */
#include "base/text.h"
#include "serialize/arrays/array_list.h"

enum { ARRAY_PRINT_WHOLE_MAX = 1000 };

/* What is said of an array that is too large to be printed. */
typedef struct ArraySummary {
    bool has_numbers;              /* false: strings, or every element is NaN; mean is not set */
    uint64_t min_index, max_index; /* the first element of that value */
    double mean;                   /* of the elements that are no NaN */
    uint64_t nan_count;
} ArraySummary;
ArraySummary array_summarize(const NamedArray *array);

/* Appends lines: the name, element type and shape, and below them the elements in nested brackets,
 * row by row, or the summary. */
void array_print_lines(const NamedArray *array, TextBuilder *out);
/* Appends {"name", "dtype", "shape", "data"}; data are nested lists as the shape says, or []
 * without elements. A large array has "min", "max", "mean" and "nan" instead of data, unless whole
 * is set; a value that does not exist is null. */
void array_print_json(const NamedArray *array, bool whole, TextBuilder *out);
