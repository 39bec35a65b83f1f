#pragma once
/* Threads for work that waits or takes long and belongs to no execution: reading models and inputs,
 * writing outputs and checkpoints. Owned by the control thread, whose files post tasks. */
#include <stdint.h>

#include "base/error.h"

typedef struct IoPool IoPool;

enum { IO_POOL_THREADS_MAX = 64 };

/* The first member of the object that describes the task. */
typedef struct IoTask {
    void (*run)(struct IoTask *task); /* on one of the threads; may free the task */
    struct IoTask *next;
} IoTask;

MUST_CHECK Error *io_pool_create(uint32_t thread_count, IoPool **out_pool);
/* Runs all posted tasks, then ends the threads. */
void io_pool_release(IoPool *pool);
DEFINE_OWN(IoPool, io_pool_release);
/* Posts a task; tasks begin in the order of their posting. Threads: any. */
void io_pool_post(IoPool *pool, IoTask *task);
