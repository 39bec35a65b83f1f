#pragma once
/* NVRTC: compiles the source of a kernel to an image that the driver loads, with the flags that
 * kernels/cuda/meson.build gives nvcc, so that kernels compiled at run time have the same bits.
 * Called by cuda_modules.c and cuda_compiled.c.
 *
 * Threads: any. */
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "kernels/cuda/driver/cuda_symbols.h"

typedef struct CudaNvrtc {
    const CudaSymbols *api; /* NULL: not opened */
    int sm;                 /* the GPU to compile for: 10 * major + minor */
    bool assembled;         /* to machine code; false: to PTX, which the driver assembles */
} CudaNvrtc;

typedef struct CudaImage {
    char *bytes;
    size_t size;
} CudaImage;

/* sm: the GPU's. driver_version: as cuDriverGetVersion counts. Errors: UNSUPPORTED the library is
 * not on this machine, or makes no image that this driver and GPU run. */
MUST_CHECK Error *cuda_nvrtc_open(int sm, int driver_version, CudaNvrtc *out);
/* The source may include the headers in cuda_embedded.
 *
 * name:    of the source, in the compiler's messages.
 * out_log: NULL, or gets the compiler's messages.
 * Errors:  FAILED with the compiler's messages, OUT_OF_MEMORY. */
MUST_CHECK Error *cuda_nvrtc_compile(const CudaNvrtc *nvrtc, const char *name, const char *source,
    CudaImage *out, TextBuilder *out_log);
void cuda_image_deinit(CudaImage *image);
#define OWN_IMAGE(name) __attribute__((cleanup(cuda_image_deinit))) CudaImage name
