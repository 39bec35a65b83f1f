#pragma once
/* A set of named threads for work that is no execution's: encoding chunks, hashing, packing
 * weights. They start when there is something to do: a short command often has nothing. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct WorkerPool WorkerPool;

enum { WORKER_POOL_THREADS_MAX = 64 };

/* Cores of this machine, 1 to WORKER_POOL_THREADS_MAX. */
uint32_t worker_pool_core_count(void);
/* name: of which 11 letters are shown by ps and gdb. Threads: 1 … WORKER_POOL_THREADS_MAX, as many
 * at most. */
MUST_CHECK Error *worker_pool_create(const char *name, uint32_t thread_count, WorkerPool **out);
/* Waits for what runs, then ends the threads. */
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
