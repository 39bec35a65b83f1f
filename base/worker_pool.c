#include "base/worker_pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/thread.h"

enum { NAME_SIZE = 12 };

/* One call of worker_pool_for_each. Lives on the caller's stack until every helper has left the
 * batch. */
typedef struct Batch {
    WorkerTask *task;
    void *context;
    size_t count;
    size_t next;
    uint32_t helpers; /* pool threads inside this batch */
    Error *error;
    size_t error_index;
    struct Batch *following;
} Batch;

struct WorkerPool {
    pthread_mutex_t mutex;
    pthread_cond_t work;     /* a batch was queued, or the pool ends */
    pthread_cond_t finished; /* a helper left a batch */
    Batch *batches;          /* batches with indices that have not started */
    bool ending;
    uint32_t thread_count, started;
    char name[NAME_SIZE];
    pthread_t threads[WORKER_POOL_THREADS_MAX];
};

static void batch_unlink(WorkerPool *pool, Batch *batch) {
    for (Batch **link = &pool->batches; *link; link = &(*link)->following)
        if (*link == batch) {
            *link = batch->following;
            return;
        }
}

/* Runs indices of the batch until none is left. Called and left with the mutex held. */
static void batch_run(WorkerPool *pool, Batch *batch) {
    while (batch->next < batch->count) {
        size_t index = batch->next++;
        if (batch->next == batch->count) batch_unlink(pool, batch);
        pthread_mutex_unlock(&pool->mutex);
        Error *error = batch->task(batch->context, index);
        pthread_mutex_lock(&pool->mutex);
        if (!error) continue;
        if (!batch->error || index < batch->error_index) {
            error_free(batch->error); /* a later index also failed; the lowest is reported */
            batch->error = error;
            batch->error_index = index;
        } else
            error_free(error); /* an error of a higher index, too, is dropped */
        batch_unlink(pool, batch);
        batch->next = batch->count;
    }
}

static void *worker_main(void *argument) {
    WorkerPool *pool = argument;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (!pool->batches && !pool->ending) pthread_cond_wait(&pool->work, &pool->mutex);
        if (!pool->batches) break;
        Batch *batch = pool->batches;
        batch->helpers++;
        batch_run(pool, batch);
        batch->helpers--;
        pthread_cond_broadcast(&pool->finished);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

uint32_t worker_pool_core_count(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (cores < 1) return 1;
    return cores > WORKER_POOL_THREADS_MAX ? WORKER_POOL_THREADS_MAX : (uint32_t)cores;
}

Error *worker_pool_create(const char *name, uint32_t thread_count, WorkerPool **out) {
    if (thread_count < 1 || thread_count > WORKER_POOL_THREADS_MAX)
        FAIL(INVALID, "%u threads: 1 to %d are possible", thread_count, WORKER_POOL_THREADS_MAX);
    void *memory;
    TRY(memory_alloc(1, sizeof(WorkerPool), &memory));
    OWN(WorkerPool, pool) = memory;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->finished, NULL);
    pool->thread_count = thread_count;
    (void)snprintf(pool->name, sizeof pool->name, "%s", name);
    *out = TAKE(pool);
    return NULL;
}

void worker_pool_release(WorkerPool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->mutex);
    pool->ending = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
    for (uint32_t i = 0; i < pool->started; i++) pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->mutex);
    memory_free(pool);
}

uint32_t worker_pool_thread_count(const WorkerPool *pool) { return pool->thread_count; }

/* Starts as many threads as the pool allows and the tasks can use. When the system gives no more
 * threads, the present ones and the calling thread do the work. Called with the mutex held. */
static void start_threads(WorkerPool *pool, size_t tasks) {
    while (pool->started < pool->thread_count && pool->started < tasks) {
        char name[NAME_SIZE + 4];
        (void)snprintf(name, sizeof name, "%s-%u", pool->name, pool->started);
        if (!thread_start(&pool->threads[pool->started], name, worker_main, pool)) break;
        pool->started++;
    }
}

static Error *run_here(size_t count, WorkerTask *task, void *context) {
    for (size_t i = 0; i < count; i++) TRY(task(context, i));
    return NULL;
}

Error *worker_pool_for_each(WorkerPool *pool, size_t count, WorkerTask *task, void *context) {
    if (!pool || count < 2) return run_here(count, task, context);
    Batch batch = {.task = task, .context = context, .count = count};
    pthread_mutex_lock(&pool->mutex);
    start_threads(pool, count - 1);
    Batch **link = &pool->batches;
    while (*link) link = &(*link)->following;
    *link = &batch;
    pthread_cond_broadcast(&pool->work);
    batch_run(pool, &batch);
    while (batch.helpers > 0) pthread_cond_wait(&pool->finished, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
    return batch.error;
}
