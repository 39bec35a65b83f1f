#pragma once
/* Threads for work that waits or takes long and is no execution's: reading models and inputs,
 * writing outputs and checkpoints. */
#include <stdint.h>

#include "base/error.h"

typedef struct IoPool IoPool;

enum { IO_POOL_THREADS_MAX = 64 };

/* Embedded as the first member of what is to be done. */
typedef struct IoTask {
    void (*run)(struct IoTask *task); /* on one of the threads; may free the task */
    struct IoTask *next;
} IoTask;

MUST_CHECK Error *io_pool_create(uint32_t thread_count, IoPool **out_pool);
/* Runs everything that was posted, then ends the threads. */
void io_pool_release(IoPool *pool);
DEFINE_OWN(IoPool, io_pool_release);
/* Tasks are begun in the order of their posting. Threads: any. */
void io_pool_post(IoPool *pool, IoTask *task);
