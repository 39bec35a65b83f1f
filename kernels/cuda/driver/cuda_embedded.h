#pragma once
/* Texts of the headers that kernels compiled at run time include. Made by
 * tools/generate/embed_headers.py from kernels/cuda/device/device_group.h and all headers that it
 * includes; passed to NVRTC by cuda_nvrtc.c. Pure: a constant table. */

typedef struct CudaEmbedded {
    const char *name; /* the name in #include; NULL ends the table */
    const char *text;
} CudaEmbedded;

extern const CudaEmbedded cuda_embedded[];
