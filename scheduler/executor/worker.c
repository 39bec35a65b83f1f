#include "scheduler/executor/worker.h"

#include <pthread.h>
#include <stdio.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/spin.h"
#include "base/thread.h"

struct Worker {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t posted;
    WorkerSlice *first, **last;
    atomic_bool filled; /* a slice waits */
    bool ending;
    uint64_t spin_ns;
};

static WorkerSlice *wait_for_slice(Worker *worker) {
    (void)pthread_mutex_lock(&worker->mutex);
    while (!worker->first && !worker->ending)
        (void)pthread_cond_wait(&worker->posted, &worker->mutex);
    WorkerSlice *slice = worker->first;
    if (slice) {
        worker->first = slice->next;
        if (!worker->first) worker->last = &worker->first;
        atomic_store_explicit(&worker->filled, worker->first != NULL, memory_order_relaxed);
    }
    (void)pthread_mutex_unlock(&worker->mutex);
    return slice;
}

static void *thread_main(void *argument) {
    Worker *worker = argument;
    WorkerSlice *slice;
    while ((slice = wait_for_slice(worker))) {
        slice->start_ns = clock_now_ns(clock_real());
        slice->error = job_run_slice(slice->run, slice->residency, slice->sink, &slice->result);
        slice->device_time_ns = clock_now_ns(clock_real()) - slice->start_ns;
        bool goes_on = !slice->error && slice->result.outcome == JOB_RUN_SLICE_ENDED;
        slice->done(slice);
        if (goes_on) (void)spin_until(&worker->filled, worker->spin_ns); /* this or another one */
    }
    return NULL;
}

Error *worker_create(const char *name, Worker **out_worker) {
    void *memory;
    char thread_name[16];
    TRY(memory_alloc(1, sizeof(Worker), &memory));
    Worker *worker = memory;
    worker->last = &worker->first;
    worker->spin_ns = spin_limit_ns();
    (void)pthread_mutex_init(&worker->mutex, NULL);
    (void)pthread_cond_init(&worker->posted, NULL);
    (void)snprintf(thread_name, sizeof thread_name, "run-%.11s", name);
    if (!thread_start(&worker->thread, thread_name, thread_main, worker)) {
        (void)pthread_cond_destroy(&worker->posted);
        (void)pthread_mutex_destroy(&worker->mutex);
        memory_free(worker);
        FAIL(OUT_OF_MEMORY, "the system gives no more threads");
    }
    *out_worker = worker;
    return NULL;
}

void worker_release(Worker *worker) {
    if (!worker) return;
    (void)pthread_mutex_lock(&worker->mutex);
    worker->ending = true;
    (void)pthread_cond_signal(&worker->posted);
    (void)pthread_mutex_unlock(&worker->mutex);
    (void)pthread_join(worker->thread, NULL);
    (void)pthread_cond_destroy(&worker->posted);
    (void)pthread_mutex_destroy(&worker->mutex);
    memory_free(worker);
}

void worker_post(Worker *worker, WorkerSlice *slice) {
    slice->next = NULL;
    (void)pthread_mutex_lock(&worker->mutex);
    *worker->last = slice;
    worker->last = &slice->next;
    atomic_store_explicit(&worker->filled, true, memory_order_release);
    (void)pthread_mutex_unlock(&worker->mutex);
    (void)pthread_cond_signal(&worker->posted);
}
