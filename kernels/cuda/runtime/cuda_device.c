#include "kernels/cuda/runtime/cuda_device.h"

#include "kernels/cuda/driver/cuda_fatbin.h"
#include "kernels/cuda/runtime/cuda_launch_internal.h"
#include "kernels/cuda/runtime/cuda_memory.h"
#include "kernels/cuda/runtime/cuda_modules.h"
#include "kernels/cuda/runtime/cuda_scope.h"
#include "kernels/cuda/runtime/cuda_staging.h"

static Error *find_gpu(CudaDevice *device) {
    int count = 0, major, minor, pools = 0;
    size_t total;
    CUDA_TRY(device, cuDeviceGetCount, &count);
    if (count == 0) FAIL(UNSUPPORTED, "no NVIDIA GPU on this machine");
    if (device->base.index >= (uint32_t)count)
        FAIL(UNSUPPORTED, "this machine has %d NVIDIA GPU%s, of which the last is cuda:%d", count,
            count == 1 ? "" : "s", count - 1);
    CUDA_TRY(device, cuDeviceGet, &device->gpu, (int)device->base.index);
    CUDA_TRY(device, cuDeviceGetName, device->gpu_name, CUDA_GPU_NAME_MAX, device->gpu);
    CUDA_TRY(device, cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        device->gpu);
    CUDA_TRY(device, cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        device->gpu);
    CUDA_TRY(device, cuDeviceGetAttribute, &pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
        device->gpu);
    if (!pools) FAIL(UNSUPPORTED, "%s has no memory pools", device->gpu_name);
    CUDA_TRY(device, cuDeviceTotalMem_v2, &total, device->gpu);
    CUDA_TRY(device, cuDriverGetVersion, &device->driver_version);
    device->sm = 10 * major + minor;
    device->total_bytes = total;
    if (device->options.memory_bytes && device->options.memory_bytes < total)
        device->total_bytes = device->options.memory_bytes;
    return NULL;
}

static Error *open_context(CudaDevice *device) {
    CUDA_SCOPE(scope);
    CUDA_TRY(device, cuDevicePrimaryCtxRetain, &device->context, device->gpu);
    TRY(cuda_scope_enter(device, &scope));
    CUDA_TRY(device, cuStreamCreate, &device->idle, CU_STREAM_NON_BLOCKING);
    TRY(cuda_memory_create_pool(device));
    return cuda_staging_create(device, &device->staging);
}

Error *cuda_device_start(CudaDevice *device) {
    TRY(cuda_symbols_start(cuda_fatbin.needed_version, &device->api));
    if (device->options.graphs) TRY(cuda_symbols_load(CUDA_LIBRARY_GRAPHS));
    TRY(find_gpu(device));
    return open_context(device);
}

static void close_context(CudaDevice *device) {
    CUDA_SCOPE(scope);
    if (!cuda_scope_try(device, &scope)) return;
    if (device->idle) (void)device->api->cuStreamSynchronize(device->idle);
    cuda_staging_release(device, device->staging);
    cuda_launch_unload(device);
    cuda_modules_release(device, device->modules);
    if (device->idle) (void)device->api->cuStreamDestroy_v2(device->idle);
    if (device->pool) (void)device->api->cuMemPoolDestroy(device->pool);
}

void cuda_device_stop(CudaDevice *device) {
    if (!device->context) return;
    close_context(device);
    (void)device->api->cuDevicePrimaryCtxRelease_v2(device->gpu);
}
