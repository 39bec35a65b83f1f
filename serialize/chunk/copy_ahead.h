#pragma once
/* Copies bytes of a device to host memory in a thread of its own, ahead of the threads that hash
 * and encode them. So the link and the processors work at the same time, and at most
 * COPY_AHEAD_BYTES wait between them. Caller: checkpoint_write.c. */
#include "kernels/device/device.h"
#include "serialize/chunk/chunk.h"

enum { COPY_AHEAD_PIECES = 32, COPY_AHEAD_BYTES = COPY_AHEAD_PIECES * CHUNK_SIZE };

typedef struct CopyAhead CopyAhead;

typedef struct DeviceRange {
    uint64_t address, size; /* in the device's memory; size > 0 */
    uint32_t chunk_size;    /* the size of the chunks: CHUNK_SIZE or a divisor of it */
} DeviceRange;

/* Starts copying. ranges: in the order in which the caller will ask for them; copied. stream: not
 * used by others until the release; NULL: the copies are not ordered with other work. Errors:
 * OUT_OF_MEMORY. */
MUST_CHECK Error *copy_ahead_create(
    Device *device, DeviceStream *stream, const DeviceRange *ranges, size_t count, CopyAhead **out);
/* Stops copying and waits for the thread. */
void copy_ahead_release(CopyAhead *copies);
DEFINE_OWN(CopyAhead, copy_ahead_release);
/* Returns the next range in chunks of its size. Each chunk must be got and done, or copying stalls.
 * Errors of the reader: the device's. Threads: one for this function; any for the reader. */
RawChunks copy_ahead_next(CopyAhead *copies);
