#pragma once
/* The rows of cases.def and what their words mean. */
#include "kernels/tensor/tensor.h"
#include "tests/conformance/references/reference.h"

typedef struct ConformanceCase {
    const char *operator_name;
    const char *attributes;
    const char *inputs;
    const char *outputs;
    const char *dtypes;
    Reference *reference; /* NULL: a BENCH row, too large for loops in double */
    const char *file;     /* the path of cases.def, or of what it includes */
    int line;
} ConformanceCase;

extern const ConformanceCase case_table[];
extern const uint32_t case_table_count;

/* The name of the file that the row stands in. */
const char *case_table_file(const ConformanceCase *row);
/* Of the row's text: other rows before it change none of its numbers. */
uint64_t case_table_seed(const ConformanceCase *row);
/* "float,int64" and so on. */
DTypeSet case_table_dtype_set(const char *words);
/* The element types that a row is run with; bit 0 alone (DTYPE_NONE) for "none". */
DTypeSet case_table_dtypes(const ConformanceCase *row);
/* Makes the inputs of a row: host tensors, NULL for absent ones. A row that cannot be read is a
 * mistake in cases.def and ends the program. */
uint32_t case_table_inputs(const ConformanceCase *row, DType dtype, Tensor **out_inputs);
/* What the outputs must be; a dimension written '?' is -1. */
uint32_t case_table_outputs(
    const ConformanceCase *row, DType dtype, DType *out_dtypes, Shape *out_shapes);
