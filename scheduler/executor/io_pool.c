#include "scheduler/executor/io_pool.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/allocator.h"
#include "base/thread.h"

struct IoPool {
    pthread_mutex_t mutex;
    pthread_cond_t posted;
    IoTask *first, **last;
    bool ending;
    uint32_t thread_count;
    pthread_t threads[IO_POOL_THREADS_MAX];
};

static IoTask *wait_for_task(IoPool *pool) {
    (void)pthread_mutex_lock(&pool->mutex);
    while (!pool->first && !pool->ending) (void)pthread_cond_wait(&pool->posted, &pool->mutex);
    IoTask *task = pool->first;
    if (task) {
        pool->first = task->next;
        if (!pool->first) pool->last = &pool->first;
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    return task;
}

static void *thread_main(void *argument) {
    IoTask *task;
    while ((task = wait_for_task(argument))) task->run(task);
    return NULL;
}

Error *io_pool_create(uint32_t thread_count, IoPool **out_pool) {
    void *memory;
    if (thread_count < 1 || thread_count > IO_POOL_THREADS_MAX)
        FAIL(INVALID, "%u threads; 1 to %d are possible", thread_count, IO_POOL_THREADS_MAX);
    TRY(memory_alloc(1, sizeof(IoPool), &memory));
    IoPool *pool = memory;
    pool->last = &pool->first;
    (void)pthread_mutex_init(&pool->mutex, NULL);
    (void)pthread_cond_init(&pool->posted, NULL);
    for (; pool->thread_count < thread_count; pool->thread_count++) {
        pthread_t *thread = &pool->threads[pool->thread_count];
        if (!thread_start(thread, "layover-io", thread_main, pool)) {
            io_pool_release(pool);
            FAIL(OUT_OF_MEMORY, "the system gives no more threads");
        }
    }
    *out_pool = pool;
    return NULL;
}

void io_pool_release(IoPool *pool) {
    if (!pool) return;
    (void)pthread_mutex_lock(&pool->mutex);
    pool->ending = true;
    (void)pthread_cond_broadcast(&pool->posted);
    (void)pthread_mutex_unlock(&pool->mutex);
    for (uint32_t i = 0; i < pool->thread_count; i++) (void)pthread_join(pool->threads[i], NULL);
    (void)pthread_cond_destroy(&pool->posted);
    (void)pthread_mutex_destroy(&pool->mutex);
    memory_free(pool);
}

void io_pool_post(IoPool *pool, IoTask *task) {
    task->next = NULL;
    (void)pthread_mutex_lock(&pool->mutex);
    *pool->last = task;
    pool->last = &task->next;
    (void)pthread_mutex_unlock(&pool->mutex);
    (void)pthread_cond_signal(&pool->posted);
}
