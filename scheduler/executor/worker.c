#include "scheduler/executor/worker.h"

#include <pthread.h>
#include <stdio.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/spin.h"
#include "base/thread.h"

enum { HANDS_MAX = 64 };

/* A worker's threads: one runs slices, the others run slices that were set aside, or wait. */
struct Worker {
    char name[16];
    pthread_t hands[HANDS_MAX];
    uint32_t hand_count, idle_count;
    pthread_mutex_t mutex; /* guards the members below, and the counts */
    pthread_cond_t posted;
    WorkerSlice *first, **last;
    atomic_bool filled; /* a slice waits */
    bool ending;
    uint64_t spin_ns;
};

static WorkerSlice *wait_for_slice(Worker *worker) {
    (void)pthread_mutex_lock(&worker->mutex);
    worker->idle_count++;
    while (!worker->first && !worker->ending)
        (void)pthread_cond_wait(&worker->posted, &worker->mutex);
    worker->idle_count--;
    WorkerSlice *slice = worker->first;
    if (slice) {
        worker->first = slice->next;
        if (!worker->first) worker->last = &worker->first;
        atomic_store_explicit(&worker->filled, worker->first != NULL, memory_order_relaxed);
    }
    (void)pthread_mutex_unlock(&worker->mutex);
    return slice;
}

/* Returns true if the job goes on after the slice. */
static bool run_slice(WorkerSlice *slice) {
    slice->start_ns = clock_now_ns(clock_real());
    slice->error = job_run_slice(slice->run, slice->residency, slice->sink, &slice->result);
    slice->device_time_ns = clock_now_ns(clock_real()) - slice->start_ns;
    const bool goes_on = !slice->error && slice->result.outcome == JOB_RUN_SLICE_ENDED;
    slice->done(slice);
    return goes_on;
}

void worker_run(WorkerSlice *slice) { (void)run_slice(slice); }

static void *thread_main(void *argument) {
    Worker *worker = argument;
    WorkerSlice *slice;
    while ((slice = wait_for_slice(worker)))
        if (run_slice(slice)) (void)spin_until(&worker->filled, worker->spin_ns); /* the next one */
    return NULL;
}

/* Under the mutex. */
static bool add_hand(Worker *worker) {
    if (worker->hand_count == HANDS_MAX) return false;
    if (!thread_start(&worker->hands[worker->hand_count], worker->name, thread_main, worker))
        return false;
    worker->hand_count++;
    return true;
}

Error *worker_create(const char *name, Worker **out_worker) {
    void *memory;
    TRY(memory_alloc(1, sizeof(Worker), &memory));
    Worker *worker = memory;
    worker->last = &worker->first;
    worker->spin_ns = spin_limit_ns();
    (void)pthread_mutex_init(&worker->mutex, NULL);
    (void)pthread_cond_init(&worker->posted, NULL);
    (void)snprintf(worker->name, sizeof worker->name, "run-%.11s", name);
    (void)pthread_mutex_lock(&worker->mutex);
    const bool started = add_hand(worker);
    (void)pthread_mutex_unlock(&worker->mutex);
    if (!started) {
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
    (void)pthread_cond_broadcast(&worker->posted);
    (void)pthread_mutex_unlock(&worker->mutex);
    for (uint32_t i = 0; i < worker->hand_count; i++) (void)pthread_join(worker->hands[i], NULL);
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

void worker_set_aside(Worker *worker) {
    (void)pthread_mutex_lock(&worker->mutex);
    /* one that is there but has not got so far would do; one more waits for the next time */
    if (worker->idle_count == 0) (void)add_hand(worker);
    (void)pthread_mutex_unlock(&worker->mutex);
}
