#pragma once
/* A set of named threads for work beside executions: encoding chunks, hashing, packing weights. The
 * threads start with the first work, since a short command often has none. Owned by the daemon's
 * parts (scheduler/) and by commands (tools/client). Threads: any. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct WorkerPool WorkerPool;

enum { WORKER_POOL_THREADS_MAX = 64 };

/* Returns the cores of this machine, 1 to WORKER_POOL_THREADS_MAX. */
uint32_t worker_pool_core_count(void);
/* Makes a pool. name: ps and gdb show its first 11 letters. thread_count: at most so many threads,
 * 1 to WORKER_POOL_THREADS_MAX. */
MUST_CHECK Error *worker_pool_create(const char *name, uint32_t thread_count, WorkerPool **out);
/* Waits for running work, then ends the threads. */
void worker_pool_release(WorkerPool *pool);
DEFINE_OWN(WorkerPool, worker_pool_release);
uint32_t worker_pool_thread_count(const WorkerPool *pool);

/* Calls task(context, i) for every i < count on the pool's threads and the calling one, in no
 * order, and waits. After a failure no further i is started; the failure of the lowest i that
 * failed is returned. pool NULL: all on the calling thread, in order. Threads: any; calls from
 * several threads share the pool's threads. A task must not call it on the same pool. */
typedef Error *WorkerTask(void *context, size_t index);
MUST_CHECK Error *worker_pool_for_each(
    WorkerPool *pool, size_t count, WorkerTask *task, void *context);
