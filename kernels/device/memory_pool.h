#pragma once
/* The memory of one execution on one device: free lists by size class, a grant that the scheduler
 * changes, a hard limit; and the stream on which all work on that memory is queued, so that a freed
 * block may be reused at once. Made by executions and residencies.
 *
 * Threads: any; a checkpoint that is written on another thread may free memory. */
#include <stdint.h>

#include "base/error.h"
#include "kernels/device/device.h"

typedef struct MemoryPool MemoryPool;

typedef enum MemoryAnswerKind {
    MEMORY_GRANTED,
    /* Not an error: the present grant is used up, or the device has not enough free memory now. Ask
     * again later. */
    MEMORY_NEEDED,
} MemoryAnswerKind;

typedef struct MemoryAnswer {
    MemoryAnswerKind kind;
    uint64_t bytes; /* MEMORY_NEEDED: the size that was asked for */
} MemoryAnswer;

/* Makes a counted pool. limit_bytes: EXHAUSTED beyond it (0, or more than the device has: the
 * device's whole memory). device is borrowed and must outlive the pool. */
MUST_CHECK Error *memory_pool_create(Device *device, uint64_t limit_bytes, MemoryPool **out);
MemoryPool *memory_pool_retain(MemoryPool *pool);
void memory_pool_release(MemoryPool *pool);
DEFINE_OWN(MemoryPool, memory_pool_release);
/* Sets the pool from which this one takes blocks before it asks the device, and to which it leaves
 * its idle blocks when it ends: for pools that follow each other and whose owner may see the bytes
 * of earlier ones (the first writes to a fresh block fault page by page: a quarter of a small
 * convolution network's time). Once, before the first block. The reserve is a pool of the same
 * device from which nothing is allocated directly; it is retained. */
void memory_pool_set_reserve(MemoryPool *pool, MemoryPool *reserve);
/* Makes the pool keep no idle block: a freed block goes back to the device at once (TVM's naive
 * allocator). Once, before the first block; such a pool has no reserve. */
void memory_pool_set_naive(MemoryPool *pool);
/* Sets how many bytes the execution may hold at present; UINT64_MAX (the initial value) means up to
 * the limit. In host memory, a larger idle block may be lent when none of the right size is idle.
 * The spare bytes of such blocks exceed the grant, by at most 16 MiB, if they were lent before the
 * grant shrank or was used up. */
void memory_pool_set_grant(MemoryPool *pool, uint64_t grant_bytes);
Device *memory_pool_get_device(const MemoryPool *pool);
/* NULL: the device has no queues. Borrowed. */
DeviceStream *memory_pool_get_stream(const MemoryPool *pool);

/* Allocates size > 0 bytes, aligned to DEVICE_ALIGNMENT. Contents undefined: bytes of this
 * execution, of an earlier one with the same reserve, or zero; never those of others, since a
 * device gives zeroed memory. The pool exists until its last block is freed. Errors: EXHAUSTED
 * beyond the limit or beyond the whole device. */
MUST_CHECK Error *memory_pool_alloc(
    MemoryPool *pool, uint64_t size, MemoryAnswer *out_answer, uint64_t *out_address);
void memory_pool_free(MemoryPool *pool, uint64_t address, uint64_t size);
/* Moves a block of one pool to another pool of the same device, at the same address; nothing is
 * copied. No queued work may be under way on it. False: the other pool's limit or grant has no
 * room, and nothing has changed. */
MUST_CHECK bool memory_pool_move(MemoryPool *from, MemoryPool *to, uint64_t address, uint64_t size);
/* Frees unused blocks to the device. */
void memory_pool_trim(MemoryPool *pool);
uint64_t memory_pool_used_bytes(const MemoryPool *pool);
uint64_t memory_pool_peak_bytes(const MemoryPool *pool);
uint64_t memory_pool_idle_bytes(const MemoryPool *pool);
/* How many blocks the pool has had from the device. */
uint64_t memory_pool_device_blocks(const MemoryPool *pool);
