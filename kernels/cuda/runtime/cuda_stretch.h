#pragma once
/* Starts the launches between two waits of a stream together, as one graph of the driver. Called by
 * cuda_stream.c.
 *
 * A loop queues the same launches in each turn, with other addresses and sizes. Each stretch of
 * launches has a signature: the launches in order. While a stretch is new its launches go straight
 * to the queue and only the signature is kept. A stretch is expected again if it came last time
 * after the stretch that has just come again; then its launches are captured into a graph instead.
 * At its end the executable graph of the same signature takes over the new addresses and sizes and
 * is launched. If the driver refuses that, or the expectation was wrong, a graph is made from the
 * captured launches: in any case recorded launches are started exactly once.
 *
 * A stretch ends at an operation that waits for the stream, that must come after the launches in
 * the queue (an event, a copy with the host, freed memory), or that cannot be captured; and after
 * CUDA_STRETCH_LAUNCHES_MAX launches, so that the GPU works on those while the next are recorded.
 *
 * Threads: as the stream's. All functions are called in the device's context. */
#include "kernels/cuda/driver/cuda_symbols.h"
#include "kernels/cuda/runtime/cuda_context.h"

enum {
    CUDA_STRETCH_LAUNCHES_MAX = 32, /* the GPU idles while the first of a turn are recorded */
    CUDA_STRETCH_LAUNCHES_MIN = 4,  /* a graph of fewer launches is no faster than the launches */
    CUDA_STRETCH_KEPT_MAX = 64,     /* signatures, and so graphs; the most recently used are kept */
    CUDA_STRETCH_REFUSALS_MAX = 2,  /* after so many refused updates a stretch is never captured
                                     * again */
};

/* Keys of other operations; the keys of kernels are their ids. */
enum {
    CUDA_STRETCH_KEY_COPY = 1 << 16,
    CUDA_STRETCH_KEY_SET = 2 << 16,
    CUDA_STRETCH_KEY_CUBLAS = 3 << 16,
};

typedef struct CudaStretch CudaStretch;

/* queue: borrowed. Errors: OUT_OF_MEMORY; the driver's. */
MUST_CHECK Error *cuda_stretch_create(CudaDevice *device, CUstream queue, CudaStretch **out);
/* Drops launches that were recorded and not ended. NULL does nothing. */
void cuda_stretch_release(CudaDevice *device, CudaStretch *stretch);

/* Called before a launch: returns the queue for the launch.
 *
 * name: for errors; lives as long as the stretch.
 * key:  equal for launches that the driver can turn into each other by other parameters.
 * Errors: the error that keeps earlier launches from running, until cuda_stretch_tell; the
 *         driver's. */
MUST_CHECK Error *cuda_stretch_add(
    CudaDevice *device, CudaStretch *stretch, const char *name, uint64_t key, CUstream *out);
/* Puts all launches so far into the queue; an error is kept for cuda_stretch_tell. */
void cuda_stretch_end(CudaDevice *device, CudaStretch *stretch);
/* The reason why launches did not run, returned once. Errors: DEVICE_LOST; FAILED. */
MUST_CHECK Error *cuda_stretch_tell(CudaStretch *stretch);
