#pragma once
/* Bytes of a device on their way to host memory, copied by a thread of their own ahead of whoever
 * hashes and encodes them: the link and the processors work at the same time, and no more than
 * COPY_AHEAD_BYTES wait between them. */
#include "kernels/device/device.h"
#include "serialize/chunk/chunk.h"

enum { COPY_AHEAD_PIECES = 32, COPY_AHEAD_BYTES = COPY_AHEAD_PIECES * CHUNK_SIZE };

typedef struct CopyAhead CopyAhead;

typedef struct DeviceRange {
    uint64_t address, size; /* of the device; size > 0 */
    uint32_t chunk_size;    /* in which it is read: CHUNK_SIZE or a whole part of it */
} DeviceRange;

/* Begins at once. ranges: in the order in which they will be asked for; copied. stream: used by
 * nobody else meanwhile; NULL: the copies order nothing. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *copy_ahead_create(
    Device *device, DeviceStream *stream, const DeviceRange *ranges, size_t count, CopyAhead **out);
/* Stops copying. */
void copy_ahead_release(CopyAhead *copies);
DEFINE_OWN(CopyAhead, copy_ahead_release);
/* The next range, in chunks of its size, each of which must be got and done with, or copying
 * stops. Errors of the reader: the device's. Threads: one for this function; any for the reader. */
RawChunks copy_ahead_next(CopyAhead *copies);
