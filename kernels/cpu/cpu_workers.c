#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/thread.h"
#include "kernels/cpu/cpu_internal.h"
#include "kernels/float_environment.h"

/* One job at a time. Its parts are claimed one by one with a compare-and-swap on `claim`, by the
 * workers and by the thread that launched: a worker that the system holds up delays nothing but the
 * part it is in. The launching thread takes them from the front and workers from behind, so that
 * with two threads each gets the same part of one job after the other, and finds in its own caches
 * what it wrote or read there: a recurrent network's weights, the rows of a layer.
 *
 *   claim = generation (32 bits) | parts (8) | taken from behind (8) | taken from the front (8)
 *
 * A part can be claimed only under the generation that was seen, and the launching thread returns
 * only when all parts are done: so the job's fields stay still as long as anybody reads them. */

/* About 20 µs: what a wake-up costs. Longer spinning would take the core from a busy neighbour, so
 * for some 100 µs more, the length of what a network does on one thread in between, each turn
 * offers it the core. */
enum { SPIN_COUNT = 1000, YIELD_COUNT = 200, YIELD_SPINS = 10, COUNT_BITS = 8, COUNT_MASK = 0xFF };
_Static_assert((int)CPU_THREADS_MAX <= (int)COUNT_MASK, "counts of parts have eight bits");

typedef enum Side { SIDE_FRONT, SIDE_BEHIND } Side;

typedef struct CpuJob {
    CpuTask *task;
    void *context;
    uint64_t units;
    uint32_t parts;
    Error *errors[CPU_THREADS_MAX];
} CpuJob;

struct CpuWorkers {
    pthread_mutex_t mutex; /* held by the launch that uses the workers; guards started, threads */
    uint32_t started;
    pthread_t threads[CPU_THREADS_MAX];
    atomic_bool stop;
    _Atomic uint64_t claim;
    _Atomic uint32_t generation; /* what idle workers wait on */
    _Atomic uint32_t sleepers;
    _Atomic uint32_t done;    /* parts done; the launching thread waits on it */
    _Atomic uint32_t waiting; /* whether the launching thread sleeps on `done` */
    CpuJob job;
};

static void futex_wait(_Atomic uint32_t *word, uint32_t seen) {
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, uint32_t count) {
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Turn i of a wait, from 0 on. False: it has lasted long enough. */
static bool spin(uint32_t i) {
    if (i >= SPIN_COUNT + YIELD_COUNT * YIELD_SPINS) return false;
    if (i >= SPIN_COUNT && i % YIELD_SPINS == 0) (void)sched_yield();
    relax();
    return true;
}

static void run_part(CpuJob *job, uint32_t part) {
    uint64_t whole = job->units / job->parts, rest = job->units % job->parts;
    uint64_t begin = whole * part + (part < rest ? part : rest);
    uint64_t end = begin + whole + (part < rest);
    job->errors[part] = job->task(job->context, begin, end, part);
}

/* Claims and runs parts of one generation until none is left. */
static void run_parts(CpuWorkers *workers, uint32_t generation, Side side) {
    uint64_t claim = atomic_load_explicit(&workers->claim, memory_order_acquire);
    for (;;) {
        const uint32_t front = (uint32_t)claim & COUNT_MASK;
        const uint32_t behind = (uint32_t)(claim >> COUNT_BITS) & COUNT_MASK;
        const uint32_t parts = (uint32_t)(claim >> 2 * COUNT_BITS) & COUNT_MASK;
        if ((uint32_t)(claim >> 32) != generation || front + behind >= parts) return;
        const uint64_t taken = claim + (side == SIDE_FRONT ? 1u : 1u << COUNT_BITS);
        if (!atomic_compare_exchange_weak_explicit(
                &workers->claim, &claim, taken, memory_order_acq_rel, memory_order_acquire))
            continue;
        run_part(&workers->job, side == SIDE_FRONT ? front : parts - 1 - behind);
        if (atomic_fetch_add(&workers->done, 1) + 1 == parts && atomic_load(&workers->waiting))
            futex_wake(&workers->done, 1);
        claim = atomic_load_explicit(&workers->claim, memory_order_acquire);
    }
}

static uint32_t wait_for_generation(CpuWorkers *workers, uint32_t seen) {
    for (uint32_t i = 0; spin(i); i++) {
        uint32_t now = atomic_load_explicit(&workers->generation, memory_order_acquire);
        if (now != seen) return now;
    }
    atomic_fetch_add(&workers->sleepers, 1);
    uint32_t now;
    while ((now = atomic_load(&workers->generation)) == seen)
        futex_wait(&workers->generation, seen);
    atomic_fetch_sub(&workers->sleepers, 1);
    return now;
}

static void *worker_main(void *argument) {
    CpuWorkers *workers = argument;
    FloatEnvironment environment;
    float_environment_enter(&environment);
    uint32_t seen = 0;
    while (!atomic_load_explicit(&workers->stop, memory_order_acquire)) {
        run_parts(workers, seen, SIDE_BEHIND);
        seen = wait_for_generation(workers, seen);
    }
    return NULL;
}

Error *cpu_workers_create(CpuWorkers **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(CpuWorkers), &block));
    CpuWorkers *workers = block;
    (void)pthread_mutex_init(&workers->mutex, NULL);
    *out = workers;
    return NULL;
}

void cpu_workers_release(CpuWorkers *workers) {
    if (!workers) return;
    atomic_store_explicit(&workers->stop, true, memory_order_release);
    atomic_fetch_add(&workers->generation, 1);
    futex_wake(&workers->generation, CPU_THREADS_MAX);
    for (uint32_t i = 0; i < workers->started; i++) (void)pthread_join(workers->threads[i], NULL);
    (void)pthread_mutex_destroy(&workers->mutex);
    memory_free(workers);
}

/* When the system gives no thread the launching one does more parts. */
static void start_workers(CpuWorkers *workers, uint32_t count) {
    while (workers->started < count &&
           thread_start(&workers->threads[workers->started], "kernels", worker_main, workers))
        workers->started++;
}

static void wait_until_done(CpuWorkers *workers, uint32_t parts) {
    for (uint32_t i = 0; spin(i); i++)
        if (atomic_load_explicit(&workers->done, memory_order_acquire) == parts) return;
    atomic_store(&workers->waiting, 1);
    uint32_t done;
    while ((done = atomic_load(&workers->done)) != parts) futex_wait(&workers->done, done);
    atomic_store(&workers->waiting, 0);
}

/* The failure of the first part that failed; the others are dropped. */
static Error *collect(CpuJob *job) {
    Error *first = NULL;
    for (uint32_t i = 0; i < job->parts; i++) {
        if (!first)
            first = job->errors[i];
        else
            error_free(job->errors[i]);
    }
    return first;
}

static Error *run_with_workers(CpuWorkers *workers, const CpuJob *job) {
    if (workers->started < job->parts - 1) start_workers(workers, job->parts - 1);
    workers->job = *job;
    atomic_store_explicit(&workers->done, 0, memory_order_relaxed);
    uint32_t generation = atomic_load(&workers->generation) + 1;
    atomic_store_explicit(&workers->claim,
        (uint64_t)generation << 32 | (uint64_t)job->parts << 2 * COUNT_BITS, memory_order_release);
    atomic_store(&workers->generation, generation);
    if (atomic_load(&workers->sleepers) > 0) futex_wake(&workers->generation, job->parts - 1);
    run_parts(workers, generation, SIDE_FRONT);
    wait_until_done(workers, job->parts);
    return collect(&workers->job);
}

uint32_t cpu_part_count(
    const CpuDevice *device, uint32_t threads, uint64_t units, uint64_t units_per_part_min) {
    uint64_t parts = threads < device->threads_max ? threads : device->threads_max;
    uint64_t worth = units / (units_per_part_min ? units_per_part_min : 1);
    if (parts > worth) parts = worth;
    return parts ? (uint32_t)parts : 1;
}

bool cpu_is_even(const CpuDevice *device, uint32_t threads, uint64_t units) {
    const uint64_t parts = threads < device->threads_max ? threads : device->threads_max;
    return (units + parts - 1) / parts * parts <= units + units / 8;
}

Error *cpu_for_each(CpuDevice *device, uint32_t threads, uint64_t units,
    uint64_t units_per_part_min, CpuTask *task, void *context) {
    if (units == 0) return NULL;
    const uint32_t parts = cpu_part_count(device, threads, units, units_per_part_min);
    if (parts == 1) return task(context, 0, units, 0);
    CpuJob job = {task, context, units, parts, {NULL}};
    if (device->workers && pthread_mutex_trylock(&device->workers->mutex) == 0) {
        Error *error = run_with_workers(device->workers, &job);
        (void)pthread_mutex_unlock(&device->workers->mutex);
        return error;
    }
    for (uint32_t i = 0; i < job.parts; i++) run_part(&job, i);
    return collect(&job);
}
