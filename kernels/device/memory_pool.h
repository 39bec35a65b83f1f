#pragma once
/* Memory of one execution on one device: free lists by size class, a grant that the scheduler
 * moves, a hard limit; and the stream on which all work on that memory is queued, so that a block
 * that is given back may be used again at once.
 *
 * Threads: any; a checkpoint being written on another thread may give memory back. */
#include <stdint.h>

#include "base/error.h"
#include "kernels/device/device.h"

typedef struct MemoryPool MemoryPool;

typedef enum MemoryAnswerKind {
    MEMORY_GRANTED,
    /* Not an error: beyond the present grant, or the device has not enough free just now. Ask again
       later. */
    MEMORY_NEEDED,
} MemoryAnswerKind;

typedef struct MemoryAnswer {
    MemoryAnswerKind kind;
    uint64_t bytes; /* MEMORY_NEEDED: how much was asked for */
} MemoryAnswer;

/* limit_bytes: EXHAUSTED beyond it (0, or more than it has: the device's whole memory). Counted.
 * device is borrowed and must outlive it. */
MUST_CHECK Error *memory_pool_create(Device *device, uint64_t limit_bytes, MemoryPool **out);
MemoryPool *memory_pool_retain(MemoryPool *pool);
void memory_pool_release(MemoryPool *pool);
DEFINE_OWN(MemoryPool, memory_pool_release);
/* Where the pool takes blocks before it asks the device, and leaves its idle ones when it ends: for
 * pools that come one after the other, whose owner may see what the earlier ones held (a fresh
 * block's first writes fault page by page: a quarter of a small convolution network's time). Once,
 * before the first block; the reserve is a pool of the same device that nobody allocates from, and
 * is retained. */
void memory_pool_set_reserve(MemoryPool *pool, MemoryPool *reserve);
/* What the execution may hold at present; UINT64_MAX (the start) means up to the limit. In host
 * memory, where a larger idle block is lent for want of one of the size, what those in use have to
 * spare comes on top where it was lent before the grant shrank or was used up: at most 16 MiB. */
void memory_pool_set_grant(MemoryPool *pool, uint64_t grant_bytes);
Device *memory_pool_get_device(const MemoryPool *pool);
/* NULL: the device has no queues. Borrowed. */
DeviceStream *memory_pool_get_stream(const MemoryPool *pool);

/* size > 0. Aligned to DEVICE_ALIGNMENT; contents undefined: of this execution, of an earlier one
 * with the same reserve, or zero. Nothing of anybody else: a device gives zeroed memory. The pool
 * stays until its last block was given back.
 * Errors: EXHAUSTED beyond the limit or beyond the whole device. */
MUST_CHECK Error *memory_pool_alloc(
    MemoryPool *pool, uint64_t size, MemoryAnswer *out_answer, uint64_t *out_address);
void memory_pool_free(MemoryPool *pool, uint64_t address, uint64_t size);
/* Makes a block of one pool another's, of the same device, at its address: nothing is copied.
 * Nothing that was queued may be under way on it. False: the other one's limit or grant has no room
 * for it, and nothing has changed. */
MUST_CHECK bool memory_pool_move(MemoryPool *from, MemoryPool *to, uint64_t address, uint64_t size);
/* Gives unused blocks back to the device. */
void memory_pool_trim(MemoryPool *pool);
uint64_t memory_pool_used_bytes(const MemoryPool *pool);
uint64_t memory_pool_peak_bytes(const MemoryPool *pool);
