#pragma once
/* Enters a device's context for the calls of a scope, and turns the driver's results into errors.
 * Called by all files that call the driver. Threads: any. */
#include "base/error.h"
#include "kernels/cuda/runtime/cuda_context.h"

/* A device whose primary context is current; ends with the scope. */
typedef struct CudaScope {
    const CudaSymbols *api; /* NULL: not entered */
} CudaScope;
void cuda_scope_leave(CudaScope *scope);
#define CUDA_SCOPE(name) __attribute__((cleanup(cuda_scope_leave))) CudaScope name = {NULL}
/* Errors: DEVICE_LOST. */
MUST_CHECK Error *cuda_scope_enter(CudaDevice *device, CudaScope *scope);
/* The same where no error can be returned: for freeing. */
bool cuda_scope_try(CudaDevice *device, CudaScope *scope);

/* NULL for CUDA_SUCCESS. Errors: EXHAUSTED no memory; DEVICE_LOST the context is corrupted, from
 * now on for every call; FAILED otherwise, with the driver's name of the error. */
MUST_CHECK Error *cuda_check(CudaDevice *device, int result, const char *function);
/* Called when another library's call failed with a code of its own: DEVICE_LOST if the context is
 * corrupted, which every call of the driver then reports. */
MUST_CHECK Error *cuda_check_context(CudaDevice *device, const char *function);
#define CUDA_TRY(device, function, ...)                                                            \
    TRY(cuda_check((device), (device)->api->function(__VA_ARGS__), #function))
