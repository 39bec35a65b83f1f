/* The GPU's memory: a pool of the driver, whose blocks are allocated and freed in the order of a
 * stream. */
#include "kernels/cuda/runtime/cuda_memory.h"

#include <inttypes.h>

#include "kernels/cuda/runtime/cuda_scope.h"
#include "kernels/cuda/runtime/cuda_stream.h"

/* Free bytes that the pool keeps when a stream is synchronized. Executions have pools of their own,
 * so little is freed while they run. */
static const uint64_t KEEP_BYTES = (uint64_t)256 << 20;

Error *cuda_memory_create_pool(CudaDevice *device) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, device->gpu}};
    uint64_t keep_bytes = KEEP_BYTES;
    CUDA_TRY(device, cuMemPoolCreate, &device->pool, &props);
    CUDA_TRY(device, cuMemPoolSetAttribute, device->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
        &keep_bytes);
    return NULL;
}

/* The bytes that the pool could still get from the GPU, which other processes use, too. */
static Error *free_bytes(CudaDevice *device, uint64_t *out) {
    size_t free_now, total;
    uint64_t reserved = 0, used = 0;
    CUDA_TRY(device, cuMemGetInfo_v2, &free_now, &total);
    CUDA_TRY(device, cuMemPoolGetAttribute, device->pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
        &reserved);
    CUDA_TRY(device, cuMemPoolGetAttribute, device->pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
    *out = free_now + (reserved > used ? reserved - used : 0);
    return NULL;
}

Error *cuda_memory_info(Device *base, DeviceMemory *out) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    uint64_t free_now;
    TRY(cuda_scope_enter(device, &scope));
    TRY(free_bytes(device, &free_now));
    uint64_t used = atomic_load_explicit(&device->used_bytes, memory_order_relaxed);
    uint64_t left = device->total_bytes > used ? device->total_bytes - used : 0;
    *out = (DeviceMemory){device->total_bytes, free_now < left ? free_now : left};
    return NULL;
}

/* Within the SPEC's limit. */
static Error *reserve(CudaDevice *device, uint64_t size) {
    uint64_t used = atomic_load_explicit(&device->used_bytes, memory_order_relaxed);
    do {
        if (size > device->total_bytes || used > device->total_bytes - size)
            FAIL(EXHAUSTED, "%s: %" PRIu64 " bytes of %" PRIu64 ", %" PRIu64 " are in use",
                device->base.name, size, device->total_bytes, used);
    } while (!atomic_compare_exchange_weak(&device->used_bytes, &used, used + size));
    return NULL;
}

static void unreserve(CudaDevice *device, uint64_t size) {
    (void)atomic_fetch_sub(&device->used_bytes, size);
}

static Error *fail_exhausted(CudaDevice *device, uint64_t size) {
    uint64_t free_now;
    TRY(free_bytes(device, &free_now));
    FAIL(EXHAUSTED, "%s: %" PRIu64 " bytes of %" PRIu64 ", %" PRIu64 " are free", device->base.name,
        size, device->total_bytes, free_now);
}

/* No launch uses a new block yet, so the allocation may run before launches that are still
 * recorded. */
static Error *take(CudaDevice *device, DeviceStream *on, uint64_t size, CUdeviceptr *out) {
    size_t bytes = size ? size : 1;
    CUstream stream = cuda_stream_ahead(device, on);
    int result = device->api->cuMemAllocFromPoolAsync(out, bytes, device->pool, stream);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) { /* queued work may free memory */
        CUDA_TRY(device, cuStreamSynchronize, cuda_stream(device, on));
        CUDA_TRY(device, cuMemPoolTrimTo, device->pool, 0);
        result = device->api->cuMemAllocFromPoolAsync(out, bytes, device->pool, stream);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return fail_exhausted(device, size);
    TRY(cuda_check(device, result, "cuMemAllocFromPoolAsync"));
    result = device->api->cuMemsetD8Async(*out, 0, bytes, stream);
    if (result != CUDA_SUCCESS) (void)device->api->cuMemFreeAsync(*out, stream);
    return cuda_check(device, result, "cuMemsetD8Async");
}

Error *cuda_memory_alloc(Device *base, DeviceStream *stream, uint64_t size, uint64_t *out_address) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    CUdeviceptr address;
    TRY(cuda_scope_enter(device, &scope));
    TRY(reserve(device, size));
    Error *error = take(device, stream, size, &address);
    if (error) {
        unreserve(device, size);
        return error;
    }
    error = cuda_stream_settle(device, stream);
    if (error) {
        cuda_memory_free(base, stream, address, size);
        return error;
    }
    *out_address = address;
    return NULL;
}

void cuda_memory_free(Device *base, DeviceStream *stream, uint64_t address, uint64_t size) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    if (!address) return;
    unreserve(device, size);
    if (cuda_scope_try(device, &scope))
        (void)device->api->cuMemFreeAsync(address, cuda_stream(device, stream));
}
