/* Copies: pinned memory directly, other memory through staging. */
#include "kernels/cuda/runtime/cuda_transfer.h"

#include <string.h>

#include "kernels/cuda/runtime/cuda_scope.h"
#include "kernels/cuda/runtime/cuda_staging.h"
#include "kernels/cuda/runtime/cuda_stream.h"
#include "kernels/cuda/runtime/cuda_stretch.h"

enum { SCALAR_BYTES_MAX = 8 };

/* True for memory that its owner has pinned, which the link reads and writes itself. */
static bool is_pinned(CudaDevice *device, const void *bytes) {
    unsigned int type = 0; /* stays 0 if the driver does not know the memory */
    int result = device->api->cuPointerGetAttribute(
        &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)bytes);
    return result == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST;
}

static Error *upload_piece(
    CudaDevice *device, CUstream stream, uint64_t to, const uint8_t *from, uint64_t size) {
    CudaStagingSlot *slot;
    TRY(cuda_staging_take(device, device->staging, size, &slot));
    memcpy(slot->bytes, from, size);
    Error *error = cuda_check(device,
        device->api->cuMemcpyHtoDAsync_v2(to, slot->bytes, size, stream), "cuMemcpyHtoDAsync");
    Error *after = cuda_staging_give(device, slot, stream);
    if (!error) return after;
    error_free(after); /* the first error has the reason */
    return error;
}

static Error *upload(
    CudaDevice *device, CUstream stream, uint64_t to, const uint8_t *from, uint64_t size) {
    for (uint64_t at = 0, part; at < size; at += part) {
        part = size - at < CUDA_STAGING_LARGE_BYTES ? size - at : CUDA_STAGING_LARGE_BYTES;
        TRY(upload_piece(device, stream, to + at, from + at, part));
    }
    return NULL;
}

/* Scalars are passed as values without staging, and a graph may contain them. */
static bool is_scalar(uint64_t to, uint64_t size) {
    return size <= SCALAR_BYTES_MAX && size % sizeof(uint32_t) == 0 && to % sizeof(uint32_t) == 0;
}

static Error *set_scalar(
    CudaDevice *device, DeviceStream *stream, uint64_t to, const uint8_t *from, uint64_t size) {
    for (uint64_t at = 0; at < size; at += sizeof(uint32_t)) {
        uint32_t value;
        CUstream queue;
        memcpy(&value, from + at, sizeof value);
        TRY(cuda_stream_record(device, stream, "a scalar", CUDA_STRETCH_KEY_SET, &queue));
        CUDA_TRY(device, cuMemsetD32Async, to + at, value, 1, queue);
    }
    return cuda_stream_settle(device, stream);
}

Error *cuda_transfer_in(
    Device *base, DeviceStream *stream, uint64_t to, const void *from, uint64_t size) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    TRY(cuda_scope_enter(device, &scope));
    if (size == 0) return NULL;
    if (is_scalar(to, size)) return set_scalar(device, stream, to, from, size);
    CUstream queue = cuda_stream(device, stream);
    if (size > CUDA_STAGING_SMALL_BYTES && is_pinned(device, from)) {
        CUDA_TRY(device, cuMemcpyHtoDAsync_v2, to, from, size, queue);
        CUDA_TRY(device, cuStreamSynchronize, queue); /* the bytes are the caller's again */
        return NULL;
    }
    TRY(upload(device, queue, to, from, size));
    return cuda_stream_settle(device, stream);
}

/* Queues a piece into a slot. */
static Error *fetch(
    CudaDevice *device, CUstream stream, CudaStagingSlot *slot, uint64_t from, uint64_t size) {
    CUDA_TRY(device, cuMemcpyDtoHAsync_v2, slot->bytes, from, size, stream);
    CUDA_TRY(device, cuEventRecord, slot->event, stream);
    return NULL;
}

static uint64_t piece_size(uint64_t size, uint64_t at) {
    uint64_t left = size > at ? size - at : 0;
    return left < CUDA_STAGING_LARGE_BYTES ? left : CUDA_STAGING_LARGE_BYTES;
}

/* One slot is emptied while the other is filled. */
static Error *download(
    CudaDevice *device, CUstream stream, uint8_t *to, uint64_t from, uint64_t size) {
    CudaStagingSlot *slots = device->staging->download;
    TRY(fetch(device, stream, &slots[0], from, piece_size(size, 0)));
    for (uint64_t at = 0, turn = 0; at < size; turn++) {
        CudaStagingSlot *slot = &slots[turn % CUDA_STAGING_LARGE_COUNT];
        CudaStagingSlot *other = &slots[(turn + 1) % CUDA_STAGING_LARGE_COUNT];
        uint64_t part = piece_size(size, at), next = piece_size(size, at + part);
        if (next) TRY(fetch(device, stream, other, from + at + part, next));
        CUDA_TRY(device, cuEventSynchronize, slot->event);
        memcpy(to + at, slot->bytes, part);
        at += part;
    }
    return NULL;
}

static Error *copy_out(CudaDevice *device, CUstream queue, void *to, uint64_t from, uint64_t size) {
    if (size == 0)
        return cuda_check(device, device->api->cuStreamSynchronize(queue), "cuStreamSynchronize");
    if (is_pinned(device, to)) {
        CUDA_TRY(device, cuMemcpyDtoHAsync_v2, to, from, size, queue);
        CUDA_TRY(device, cuStreamSynchronize, queue);
        return NULL;
    }
    (void)pthread_mutex_lock(&device->staging->download_mutex);
    Error *error = download(device, queue, to, from, size);
    (void)pthread_mutex_unlock(&device->staging->download_mutex);
    return error;
}

Error *cuda_transfer_out(
    Device *base, DeviceStream *stream, void *to, uint64_t from, uint64_t size) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    TRY(cuda_scope_enter(device, &scope));
    return cuda_stream_tell(stream, copy_out(device, cuda_stream(device, stream), to, from, size));
}

Error *cuda_transfer_inside(
    Device *base, DeviceStream *stream, uint64_t to, uint64_t from, uint64_t size) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    TRY(cuda_scope_enter(device, &scope));
    if (size == 0) return NULL;
    CUstream queue;
    TRY(cuda_stream_record(device, stream, "a copy", CUDA_STRETCH_KEY_COPY, &queue));
    CUDA_TRY(device, cuMemcpyDtoDAsync_v2, to, from, size, queue);
    return cuda_stream_settle(device, stream);
}
