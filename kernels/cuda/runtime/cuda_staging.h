#pragma once
/* Pinned host memory for copies between the GPU and pageable memory: the link copies one piece
 * while the processor copies the next. Called by cuda_transfer.c and cuda_device.c. Threads: any.
 *
 * A slot is used by one copy at a time and again when its event is reached. Small copies have slots
 * of their own, so that many of them may be under way at once. */
#include <pthread.h>
#include <stdatomic.h>

#include "kernels/cuda/driver/cuda_symbols.h"
#include "kernels/cuda/runtime/cuda_context.h"

enum {
    CUDA_STAGING_LARGE_BYTES = 8 << 20,
    CUDA_STAGING_SMALL_BYTES = 64 << 10,
    CUDA_STAGING_LARGE_COUNT = 2, /* for each direction */
    CUDA_STAGING_SMALL_COUNT = 8, /* to the device */
};

typedef struct CudaStagingSlot {
    pthread_mutex_t mutex; /* held from cuda_staging_take to cuda_staging_give */
    uint8_t *bytes;
    uint64_t size;
    CUevent event; /* reached when the last work queued with these bytes is done */
} CudaStagingSlot;

typedef struct CudaStaging {
    CudaStagingSlot upload[CUDA_STAGING_LARGE_COUNT];
    CudaStagingSlot upload_small[CUDA_STAGING_SMALL_COUNT];
    CudaStagingSlot download[CUDA_STAGING_LARGE_COUNT];
    atomic_uint next_upload, next_upload_small;
    /* held by one copy, which uses all of download; copies from the device run one after the other
     * in any case */
    pthread_mutex_t download_mutex;
} CudaStaging;

/* In the device's context, as all functions here. Errors: OUT_OF_MEMORY; the driver's. */
MUST_CHECK Error *cuda_staging_create(CudaDevice *device, CudaStaging **out);
/* No copy may be under way any more. NULL does nothing. */
void cuda_staging_release(CudaDevice *device, CudaStaging *staging);
/* Takes the next slot for a piece of a copy to the device; its bytes may be written. */
MUST_CHECK Error *cuda_staging_take(
    CudaDevice *device, CudaStaging *staging, uint64_t size, CudaStagingSlot **out);
/* Gives the slot back; the work queued with it comes before the stream's next work. */
MUST_CHECK Error *cuda_staging_give(CudaDevice *device, CudaStagingSlot *slot, CUstream stream);
