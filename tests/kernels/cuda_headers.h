#pragma once
/* The numbers and layouts of cuda_headers.def, as one header has them. */
#include <stdint.h>

typedef struct CudaHeaderRow {
    const char *name;
    int64_t value;
} CudaHeaderRow;

extern const CudaHeaderRow cuda_headers_ours[],
    cuda_headers_theirs[]; /* a name of NULL ends them */
