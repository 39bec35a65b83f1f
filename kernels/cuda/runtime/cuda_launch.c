#include "kernels/cuda/runtime/cuda_launch.h"

#include "kernels/cuda/runtime/cuda_launch_internal.h"
#include "kernels/cuda/runtime/cuda_scope.h"
#include "kernels/cuda/runtime/cuda_stream.h"
#include "kernels/cuda/driver/cuda_fatbin.h"

/* Shared memory of a block by default; a kernel that needs more must be allowed more. */
enum { SHARED_BYTES_PLAIN = 48 << 10 };

static const char *const names[CUDA_KERNEL_COUNT] = {
#define CUDA_KERNEL(id, name, parameters) #name,
#include "kernels/cuda/runtime/cuda_kernels.def"
#undef CUDA_KERNEL
};

static Error *load(CudaDevice *device) {
    CUmodule module;
    int result = device->api->cuModuleLoadData(&module, cuda_fatbin.image);
    TRY_WRAP(cuda_check(device, result, "cuModuleLoadData"), "the kernels for SM %d.%d",
        device->sm / 10, device->sm % 10);
    for (int i = 0; i < CUDA_KERNEL_COUNT; i++) {
        Error *error = cuda_check(device,
            device->api->cuModuleGetFunction(&device->functions[i], module, names[i]), names[i]);
        if (!error) continue;
        (void)device->api->cuModuleUnload(module);
        return error;
    }
    device->module = module;
    return NULL;
}

/* Loads the kernels at the first launch, so that a process that only copies never waits for
 * them. */
static Error *ensure_loaded(CudaDevice *device) {
    if (atomic_load_explicit(&device->module_loaded, memory_order_acquire)) return NULL;
    (void)pthread_mutex_lock(&device->mutex);
    Error *error = device->module ? NULL : load(device);
    if (!error) atomic_store_explicit(&device->module_loaded, true, memory_order_release);
    (void)pthread_mutex_unlock(&device->mutex);
    return error;
}

void cuda_launch_unload(CudaDevice *device) {
    if (device->module) (void)device->api->cuModuleUnload(device->module);
    device->module = NULL;
}

/* Called in the device's context. key: identifies the kernel, for graphs. */
static Error *start(CudaDevice *device, DeviceStream *stream, CUfunction function, const char *name,
    uint64_t key, const CudaGrid *grid, const void *params) {
    /* the driver takes the size of the parameters from the kernel */
    void *arguments[] = {(void *)(uintptr_t)params};
    if (grid->shared_bytes > SHARED_BYTES_PLAIN)
        CUDA_TRY(device, cuFuncSetAttribute, function,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)grid->shared_bytes);
    CUstream queue;
    TRY(cuda_stream_record(device, stream, name, key, &queue));
    int result = device->api->cuLaunchKernel(function, grid->blocks[0], grid->blocks[1],
        grid->blocks[2], grid->threads[0], grid->threads[1], grid->threads[2], grid->shared_bytes,
        queue, arguments, NULL);
    TRY(cuda_check(device, result, name));
    return cuda_stream_settle(device, stream);
}

Error *cuda_launch(Device *base, DeviceStream *stream, CudaKernelId kernel, const CudaGrid *grid,
    const void *params, size_t params_size) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    (void)params_size;
    TRY(cuda_scope_enter(device, &scope));
    TRY(ensure_loaded(device));
    return start(device, stream, device->functions[kernel], names[kernel], kernel, grid, params);
}

Error *cuda_launch_function(CudaDevice *device, DeviceStream *stream, CUfunction function,
    const char *name, const CudaGrid *grid, const void *params) {
    CUDA_SCOPE(scope);
    TRY(cuda_scope_enter(device, &scope));
    return start(device, stream, function, name, (uintptr_t)function, grid, params);
}
