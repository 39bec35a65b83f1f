#pragma once
/* NVIDIA's libraries, opened at run time: the plugin builds without them, and its errors name the
 * missing library or function. Called by the files of kernels/cuda/ that open a device or a
 * library.
 *
 * Threads: any; each library is opened once in a process and stays open. */
#include "base/error.h"
#include "kernels/cuda/driver/cuda_driver.h"

typedef enum CudaLibrary {
    CUDA_LIBRARY_DRIVER,
    CUDA_LIBRARY_GRAPHS, /* also of the driver, but loaded separately: older drivers lack them */
    CUDA_LIBRARY_CUBLASLT,
    CUDA_LIBRARY_CUDNN,
    CUDA_LIBRARY_NVRTC,
    CUDA_LIBRARY_COUNT
} CudaLibrary;

/* The functions of cuda_symbols.def by their names; NULL for a library that is not loaded. */
typedef struct CudaSymbols {
#define CUDA_FUNCTION(library, result, name, parameters, since) result(*name) parameters;
#include "kernels/cuda/driver/cuda_symbols.def"
#undef CUDA_FUNCTION
} CudaSymbols;

/* Loads all functions of one library. Errors: UNSUPPORTED the library is not on this machine, or
 * lacks a function. */
MUST_CHECK Error *cuda_symbols_load(CudaLibrary library);
/* The functions loaded so far. */
const CudaSymbols *cuda_symbols_get(void);
/* Starts the driver, after which devices can be queried. needed_version: of CUDA, as the driver
 * counts it. Errors: UNSUPPORTED no driver, an older one, no GPU. */
MUST_CHECK Error *cuda_symbols_start(int needed_version, const CudaSymbols **out);
