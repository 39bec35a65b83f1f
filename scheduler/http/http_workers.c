#include "scheduler/http/http_workers.h"

#include <pthread.h>

#include "base/allocator.h"
#include "base/thread.h"

typedef struct TaskQueue {
    HttpTask *first, **end;
} TaskQueue;

struct HttpWorkers {
    pthread_mutex_t mutex;
    pthread_cond_t posted;
    TaskQueue quick, slow;
    uint32_t thread_count, slow_running;
    bool closing;
    pthread_t threads[HTTP_WORKERS_MAX];
};

static void put(TaskQueue *queue, HttpTask *task) {
    task->next = NULL;
    *queue->end = task;
    queue->end = &task->next;
}

static HttpTask *take(TaskQueue *queue) {
    HttpTask *task = queue->first;
    if (task && !(queue->first = task->next)) queue->end = &queue->first;
    return task;
}

/* NULL: nothing to do now. Under the mutex. */
static HttpTask *choose(HttpWorkers *workers) {
    HttpTask *task = take(&workers->quick);
    if (!task && workers->slow_running < workers->thread_count / 2) {
        task = take(&workers->slow);
        if (task) workers->slow_running++;
    }
    return task;
}

static void *work(void *argument) {
    HttpWorkers *workers = argument;
    (void)pthread_mutex_lock(&workers->mutex);
    for (;;) {
        HttpTask *task = choose(workers);
        if (task) {
            bool slow = task->slow;
            (void)pthread_mutex_unlock(&workers->mutex);
            task->run(task);
            (void)pthread_mutex_lock(&workers->mutex);
            if (slow) {
                workers->slow_running--;
                (void)pthread_cond_signal(&workers->posted);
            }
        } else if (workers->closing && !workers->slow.first)
            break;
        else
            (void)pthread_cond_wait(&workers->posted, &workers->mutex);
    }
    (void)pthread_mutex_unlock(&workers->mutex);
    return NULL;
}

void http_workers_close(HttpWorkers *workers) {
    if (!workers) return;
    (void)pthread_mutex_lock(&workers->mutex);
    workers->closing = true;
    (void)pthread_cond_broadcast(&workers->posted);
    (void)pthread_mutex_unlock(&workers->mutex);
    for (uint32_t i = 0; i < workers->thread_count; i++)
        (void)pthread_join(workers->threads[i], NULL);
    (void)pthread_cond_destroy(&workers->posted);
    (void)pthread_mutex_destroy(&workers->mutex);
    memory_free(workers);
}

Error *http_workers_open(uint32_t count, HttpWorkers **out) {
    void *memory;
    if (count < 2 || count > HTTP_WORKERS_MAX)
        FAIL(INVALID, "%u handler threads; 2 to %d are possible", count, HTTP_WORKERS_MAX);
    TRY(memory_alloc(1, sizeof(HttpWorkers), &memory));
    OWN(HttpWorkers, workers) = memory;
    workers->quick.end = &workers->quick.first;
    workers->slow.end = &workers->slow.first;
    (void)pthread_mutex_init(&workers->mutex, NULL);
    (void)pthread_cond_init(&workers->posted, NULL);
    for (uint32_t i = 0; i < count; i++) {
        (void)pthread_mutex_lock(&workers->mutex);
        const bool started = thread_start(&workers->threads[i], "http", work, workers);
        if (started) workers->thread_count++;
        (void)pthread_mutex_unlock(&workers->mutex);
        if (!started) FAIL(EXHAUSTED, "the system gives no more threads");
    }
    *out = TAKE(workers);
    return NULL;
}

void http_workers_post(HttpWorkers *workers, HttpTask *task) {
    (void)pthread_mutex_lock(&workers->mutex);
    put(task->slow ? &workers->slow : &workers->quick, task);
    (void)pthread_mutex_unlock(&workers->mutex);
    (void)pthread_cond_signal(&workers->posted);
}
