#pragma once
/* Texts of the headers that kernels compiled at run time include: made by
 * tools/generate/embed_headers.py from kernels/cuda/device/device_group.h and all that it includes.
 */

typedef struct CudaEmbedded {
    const char *name; /* as it is included; NULL ends the table */
    const char *text;
} CudaEmbedded;

extern const CudaEmbedded cuda_embedded[];
