#pragma once
/* The launches between two waits of a stream, started together as one graph of the driver.
 *
 * A loop queues the same launches in each turn, with other addresses and sizes. Each stretch of
 * them has a signature: what was launched, in order. While a stretch is new its launches go
 * straight to the queue and only the signature is kept. When it is due again, because it came last
 * time behind what has just come again, its launches are captured into a graph instead; at its end
 * the executable graph of the same signature takes over the new addresses and sizes and is
 * launched. Where the driver refuses that, or the guess was wrong, one is made from what was
 * captured: what was recorded is launched once, whatever was expected.
 *
 * A stretch ends at whatever waits for the stream, has to stand behind the launches in the queue
 * (an event, a copy with the host, memory given back), or cannot be captured; and after
 * CUDA_STRETCH_LAUNCHES_MAX launches, so that the GPU works on those while the next are recorded.
 *
 * Threads: as the stream's. In the device's context, all of it. */
#include "kernels/cuda/driver/cuda_symbols.h"

struct CudaDevice;

enum {
    CUDA_STRETCH_LAUNCHES_MAX = 32, /* the GPU idles while the first of a turn are recorded */
    CUDA_STRETCH_LAUNCHES_MIN = 4,  /* a graph of fewer is no faster than they are */
    CUDA_STRETCH_KEPT_MAX = 64,     /* signatures, and so graphs; of each the last used ones */
    CUDA_STRETCH_REFUSALS_MAX = 2,  /* of updates, and it is never captured again */
};

/* Keys that are not of kernels: those are their ids. */
enum {
    CUDA_STRETCH_KEY_COPY = 1 << 16,
    CUDA_STRETCH_KEY_SET = 2 << 16,
    CUDA_STRETCH_KEY_CUBLAS = 3 << 16,
};

typedef struct CudaStretch CudaStretch;

/* queue: borrowed. Errors: OUT_OF_MEMORY; the driver's. */
MUST_CHECK Error *cuda_stretch_create(struct CudaDevice *device, CUstream queue, CudaStretch **out);
/* What is recorded and not ended is dropped. NULL does nothing. */
void cuda_stretch_release(struct CudaDevice *device, CudaStretch *stretch);

/* Before a launch: where it is to be queued.
 *
 * name: for errors; lives as long as the stretch.
 * key:  equal for launches of which the driver can make one the other by other parameters.
 * Errors: what keeps earlier launches from running, until cuda_stretch_tell; the driver's. */
MUST_CHECK Error *cuda_stretch_add(
    struct CudaDevice *device, CudaStretch *stretch, const char *name, uint64_t key, CUstream *out);
/* All launches so far are in the queue; an error is kept for cuda_stretch_tell. */
void cuda_stretch_end(struct CudaDevice *device, CudaStretch *stretch);
/* Why launches did not run, once. Errors: DEVICE_LOST; FAILED. */
MUST_CHECK Error *cuda_stretch_tell(CudaStretch *stretch);
