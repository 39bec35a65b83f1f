#pragma once
/* Pinned host memory that bytes pass through on their way between the GPU and memory that the
 * system may move: the link copies one piece while the processor copies the next.
 *
 * A slot is used by one copy at a time and again when its event is reached. Small copies have slots
 * of their own, so that many of them may be on the way at once. */
#include <pthread.h>
#include <stdatomic.h>

#include "kernels/cuda/driver/cuda_symbols.h"

struct CudaDevice;

enum {
    CUDA_STAGING_LARGE_BYTES = 8 << 20,
    CUDA_STAGING_SMALL_BYTES = 64 << 10,
    CUDA_STAGING_LARGE_COUNT = 2, /* a direction */
    CUDA_STAGING_SMALL_COUNT = 8, /* to the device */
};

typedef struct CudaStagingSlot {
    pthread_mutex_t mutex; /* held from cuda_staging_take to cuda_staging_give */
    uint8_t *bytes;
    uint64_t size;
    CUevent event; /* what was queued last with these bytes is done */
} CudaStagingSlot;

typedef struct CudaStaging {
    CudaStagingSlot upload[CUDA_STAGING_LARGE_COUNT];
    CudaStagingSlot upload_small[CUDA_STAGING_SMALL_COUNT];
    CudaStagingSlot download[CUDA_STAGING_LARGE_COUNT];
    atomic_uint next_upload, next_upload_small;
    pthread_mutex_t download_mutex; /* one copy at a time has all of download: they wait for each
                                       other anyway */
} CudaStaging;

/* In the device's context, as everything here. Errors: OUT_OF_MEMORY; the driver's. */
MUST_CHECK Error *cuda_staging_create(struct CudaDevice *device, CudaStaging **out);
/* Nothing is on the way any more. NULL does nothing. */
void cuda_staging_release(struct CudaDevice *device, CudaStaging *staging);
/* The next slot for a piece of a copy to the device, free to be written. */
MUST_CHECK Error *cuda_staging_take(
    struct CudaDevice *device, CudaStaging *staging, uint64_t size, CudaStagingSlot **out);
/* What was queued with it since is ahead of the stream's next work. */
MUST_CHECK Error *cuda_staging_give(
    struct CudaDevice *device, CudaStagingSlot *slot, CUstream stream);
