#pragma once
/* NVIDIA's libraries, opened at run time: this builds, and says why it cannot work, where they are
 * not.
 *
 * Threads: any; each library is opened once in a process and stays. */
#include "base/error.h"
#include "kernels/cuda/driver/cuda_driver.h"

typedef enum CudaLibrary {
    CUDA_LIBRARY_DRIVER,
    CUDA_LIBRARY_GRAPHS, /* of the driver, too; asked for on their own: older ones lack them */
    CUDA_LIBRARY_CUBLASLT,
    CUDA_LIBRARY_CUDNN,
    CUDA_LIBRARY_NVRTC,
    CUDA_LIBRARY_COUNT
} CudaLibrary;

/* The functions of cuda_symbols.def by their names; NULL those of a library that is not loaded. */
typedef struct CudaSymbols {
#define CUDA_FUNCTION(library, result, name, parameters, since) result(*name) parameters;
#include "kernels/cuda/driver/cuda_symbols.def"
#undef CUDA_FUNCTION
} CudaSymbols;

/* All functions of one library. Errors: UNSUPPORTED it is not on this machine, or lacks a function.
 */
MUST_CHECK Error *cuda_symbols_load(CudaLibrary library);
/* What is loaded so far. */
const CudaSymbols *cuda_symbols_get(void);
/* The driver, ready to be asked for devices. needed_version: of CUDA, as the driver counts it.
 * Errors: UNSUPPORTED no driver, an older one, no GPU. */
MUST_CHECK Error *cuda_symbols_start(int needed_version, const CudaSymbols **out);
