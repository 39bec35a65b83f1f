#pragma once
/* What a cuda device's SPEC may say behind its index:
 *   memory=SIZE  takes no more of the GPU's memory
 *   tf32=on      float32 products, those of convolutions too, may be rounded to 10 bits before
 *                they are added up; off if not said
 *   graphs=on    launches that come back are started together, as graphs; off if not said
 *   compile=off  fused groups are interpreted, not compiled at run time; on if not said */
#include <stdbool.h>

#include "kernels/device/device_options.h"

typedef struct CudaOptions {
    uint64_t memory_bytes; /* 0: all */
    bool tf32, graphs;
    bool interprets; /* compile=off */
} CudaOptions;

/* Errors: USAGE. */
MUST_CHECK Error *cuda_options_read(const char *options, CudaOptions *out);
