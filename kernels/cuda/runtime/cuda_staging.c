#include "kernels/cuda/runtime/cuda_staging.h"

#include "base/allocator.h"
#include "kernels/cuda/runtime/cuda_scope.h"

static Error *init_slots(
    CudaDevice *device, CudaStagingSlot *slots, uint32_t count, uint64_t size) {
    for (uint32_t i = 0; i < count; i++) {
        void *bytes;
        CUDA_TRY(device, cuMemHostAlloc, &bytes, size, 0);
        slots[i].bytes = bytes;
        slots[i].size = size;
        CUDA_TRY(device, cuEventCreate, &slots[i].event, CU_EVENT_DISABLE_TIMING);
    }
    return NULL;
}

static void init_mutexes(CudaStagingSlot *slots, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) (void)pthread_mutex_init(&slots[i].mutex, NULL);
}

static void deinit_slots(CudaDevice *device, CudaStagingSlot *slots, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (slots[i].event) (void)device->api->cuEventDestroy_v2(slots[i].event);
        if (slots[i].bytes) (void)device->api->cuMemFreeHost(slots[i].bytes);
        (void)pthread_mutex_destroy(&slots[i].mutex);
    }
}

static Error *init(CudaDevice *device, CudaStaging *staging) {
    TRY(init_slots(device, staging->upload, CUDA_STAGING_LARGE_COUNT, CUDA_STAGING_LARGE_BYTES));
    TRY(init_slots(
        device, staging->upload_small, CUDA_STAGING_SMALL_COUNT, CUDA_STAGING_SMALL_BYTES));
    return init_slots(
        device, staging->download, CUDA_STAGING_LARGE_COUNT, CUDA_STAGING_LARGE_BYTES);
}

Error *cuda_staging_create(CudaDevice *device, CudaStaging **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(CudaStaging), &memory));
    CudaStaging *staging = memory;
    init_mutexes(staging->upload, CUDA_STAGING_LARGE_COUNT);
    init_mutexes(staging->upload_small, CUDA_STAGING_SMALL_COUNT);
    init_mutexes(staging->download, CUDA_STAGING_LARGE_COUNT);
    (void)pthread_mutex_init(&staging->download_mutex, NULL);
    Error *error = init(device, staging);
    if (error) {
        cuda_staging_release(device, staging);
        return error;
    }
    *out = staging;
    return NULL;
}

void cuda_staging_release(CudaDevice *device, CudaStaging *staging) {
    if (!staging) return;
    deinit_slots(device, staging->upload, CUDA_STAGING_LARGE_COUNT);
    deinit_slots(device, staging->upload_small, CUDA_STAGING_SMALL_COUNT);
    deinit_slots(device, staging->download, CUDA_STAGING_LARGE_COUNT);
    (void)pthread_mutex_destroy(&staging->download_mutex);
    memory_free(staging);
}

Error *cuda_staging_take(
    CudaDevice *device, CudaStaging *staging, uint64_t size, CudaStagingSlot **out) {
    bool small = size <= CUDA_STAGING_SMALL_BYTES;
    atomic_uint *next = small ? &staging->next_upload_small : &staging->next_upload;
    uint32_t turn = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
    CudaStagingSlot *slot = small ? &staging->upload_small[turn % CUDA_STAGING_SMALL_COUNT]
                                  : &staging->upload[turn % CUDA_STAGING_LARGE_COUNT];
    (void)pthread_mutex_lock(&slot->mutex);
    Error *error =
        cuda_check(device, device->api->cuEventSynchronize(slot->event), "cuEventSynchronize");
    if (error) {
        (void)pthread_mutex_unlock(&slot->mutex);
        return error;
    }
    *out = slot;
    return NULL;
}

Error *cuda_staging_give(CudaDevice *device, CudaStagingSlot *slot, CUstream stream) {
    Error *error =
        cuda_check(device, device->api->cuEventRecord(slot->event, stream), "cuEventRecord");
    (void)pthread_mutex_unlock(&slot->mutex);
    return error;
}
