#pragma once
/* The options in a cuda device's SPEC after its index. Read by cuda_class.c when a device is
 * opened.
 *   memory=SIZE  takes no more of the GPU's memory
 *   tf32=on      float32 products, also of convolutions, may be rounded to 10 bits before they are
 *                added up; default off
 *   graphs=on    repeated launches are started together, as graphs; default off
 *   compile=off  fused groups are interpreted, not compiled at run time; default on */
#include <stdbool.h>

#include "kernels/device/device_options.h"

typedef struct CudaOptions {
    uint64_t memory_bytes; /* 0: all */
    bool tf32, graphs;
    bool interprets; /* compile=off */
} CudaOptions;

/* Errors: USAGE. */
MUST_CHECK Error *cuda_options_read(const char *options, CudaOptions *out);
