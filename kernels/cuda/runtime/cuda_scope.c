/* Enters the device's context, and turns the driver's results into errors. */
#include "kernels/cuda/runtime/cuda_scope.h"

/* After these errors every call in the context fails in the same way (cuda.h, CUresult). */
static const int spoiling[] = {CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_DEVICE_UNAVAILABLE,
    CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE, CUDA_ERROR_CONTAINED,
    CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_CONTEXT_IS_DESTROYED,
    CUDA_ERROR_ASSERT, CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_INSTRUCTION,
    CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC,
    CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_TENSOR_MEMORY_LEAK, CUDA_ERROR_EXTERNAL_DEVICE,
    CUDA_ERROR_UNKNOWN};

static bool spoils(int result) {
    for (size_t i = 0; i < sizeof spoiling / sizeof spoiling[0]; i++)
        if (spoiling[i] == result) return true;
    return false;
}

Error *cuda_check(CudaDevice *device, int result, const char *function) {
    const char *name = NULL, *text = NULL;
    if (result == CUDA_SUCCESS) return NULL;
    (void)device->api->cuGetErrorName(result, &name);
    (void)device->api->cuGetErrorString(result, &text);
    if (!name) name = "unknown error";
    if (!text) text = name;
    if (spoils(result)) {
        atomic_store_explicit(&device->lost, true, memory_order_relaxed);
        FAIL(DEVICE_LOST, "%s is lost: %s: %s (%s)", device->base.name, function, text, name);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        FAIL(EXHAUSTED, "%s: %s: %s (%s)", device->base.name, function, text, name);
    FAIL(FAILED, "%s: %s: %s (%s)", device->base.name, function, text, name);
}

Error *cuda_check_context(CudaDevice *device, const char *function) {
    if (!device->idle) return NULL; /* no work was queued yet */
    const int result = device->api->cuStreamSynchronize(device->idle);
    return spoils(result) ? cuda_check(device, result, function) : NULL;
}

void cuda_scope_leave(CudaScope *scope) {
    CUcontext context;
    if (scope->api) (void)scope->api->cuCtxPopCurrent_v2(&context);
}

Error *cuda_scope_enter(CudaDevice *device, CudaScope *scope) {
    if (atomic_load_explicit(&device->lost, memory_order_relaxed))
        FAIL(DEVICE_LOST, "%s is lost", device->base.name);
    CUDA_TRY(device, cuCtxPushCurrent_v2, device->context);
    scope->api = device->api;
    return NULL;
}

bool cuda_scope_try(CudaDevice *device, CudaScope *scope) {
    if (!device->context || device->api->cuCtxPushCurrent_v2(device->context) != CUDA_SUCCESS)
        return false;
    scope->api = device->api;
    return true;
}
