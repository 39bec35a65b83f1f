#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/thread.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/device/float_environment.h"

/* One job at a time. Its pieces are claimed one by one with a compare-and-swap on `claim`, by the
 * workers and by the thread that launched: a worker that the system suspends delays only the piece
 * that it has, and a worker on a slower core takes fewer pieces. The launching thread takes pieces
 * from the front and workers from the back, so that with two threads each gets nearly the same
 * units of one job after the other, and finds in its own caches the data that it wrote or read
 * there.
 *
 *    claim = generation (32 bits) | places (8) | pieces (8) | taken from behind (8), the front (8)
 *
 * A worker takes a place with its first piece, so that no more workers take part than the launch
 * has threads. A piece can be claimed only under the generation that the worker saw, and the
 * launching thread returns only when all pieces are done: so the job's fields do not change while a
 * thread reads them. */

/* SPIN_COUNT lasts about 20 µs, the cost of a wake-up. Longer spinning would take the core from a
 * busy neighbour, so for about 100 µs more each turn offers the core to it. 100 µs is the time that
 * a network computes on one thread between two launches. */
enum { SPIN_COUNT = 1000, YIELD_COUNT = 200, YIELD_SPINS = 10 };

enum {
    BEHIND_SHIFT = 8,
    PIECES_SHIFT = 16,
    PLACES_SHIFT = 24,
    GENERATION_SHIFT = 32,
    COUNT_MASK = 0xFF,
    PIECES_PER_THREAD = 4
};
_Static_assert((int)CPU_THREADS_MAX <= (int)COUNT_MASK, "counts have eight bits");

typedef enum Side { SIDE_FRONT, SIDE_BEHIND } Side;

typedef struct CpuJob {
    CpuTask *task;
    void *context;
    uint64_t units;
    uint64_t units_per_turn; /* about so many, between two looks at the stop */
    uint32_t pieces;
    KernelStopScope scope; /* the launching thread's */
    bool is_shared;        /* true: each participant runs the piece of its own number */
    Error *error;          /* the error of the first piece that failed; guarded by failures */
    uint32_t failed;
} CpuJob;

static pthread_mutex_t failures = PTHREAD_MUTEX_INITIALIZER;

struct CpuWorkers {
    pthread_mutex_t mutex; /* held by the launch that uses the workers; guards started, threads */
    uint32_t started;
    pthread_t threads[CPU_THREADS_MAX];
    atomic_bool stop;
    _Atomic uint64_t claim;
    _Atomic uint32_t generation; /* idle workers wait on this number */
    _Atomic uint32_t sleepers;
    _Atomic uint32_t done;    /* pieces done; the launching thread waits on it */
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

/* Turn i of a wait, from 0 on. False: the limit of spinning is reached. */
static bool spin(uint32_t i) {
    if (i >= SPIN_COUNT + YIELD_COUNT * YIELD_SPINS) return false;
    if (i >= SPIN_COUNT && i % YIELD_SPINS == 0) (void)sched_yield();
    relax();
    return true;
}

/* Keeps the error of the piece with the lowest number. */
static void take_error(CpuJob *job, uint32_t piece, Error *error) {
    if (!error) return;
    (void)pthread_mutex_lock(&failures);
    if (!job->error || piece < job->failed) {
        Error *dropped = job->error;
        job->error = error;
        job->failed = piece;
        error = dropped;
    }
    (void)pthread_mutex_unlock(&failures);
    error_free(error);
}

/* A turn is not shorter, since each call of the task packs operands or begins new rows. */
enum { TURN_MIN_NS = 2000000, TURN_MAX_NS = 8000000, TURN_PARTS = 4 };

/* Checks the stop after the task, too: a task that cannot fail may have returned early
 * (kernel_stop_ends). */
static Error *run_turn(const CpuJob *job, uint64_t begin, uint64_t end, uint32_t part) {
    TRY(job->task(job->context, begin, end, part));
    return kernel_stop_check();
}

/* Runs the units in turns of some milliseconds, or all at once when nobody can stop the launch. */
static Error *run_range(const CpuJob *job, uint64_t begin, uint64_t end, uint32_t part) {
    if (!job->scope.stop || job->is_shared) return run_turn(job, begin, end, part);
    uint64_t turn = job->units_per_turn;
    while (begin < end) {
        if (turn >= end - begin) return run_turn(job, begin, end, part);
        const uint64_t start_ns = clock_now_ns(clock_real());
        TRY(run_turn(job, begin, begin + turn, part));
        begin += turn;
        const uint64_t taken_ns = clock_now_ns(clock_real()) - start_ns;
        if (taken_ns < TURN_MIN_NS && turn < UINT64_MAX / 2) turn *= 2;
        if (taken_ns > TURN_MAX_NS && turn > 1) turn /= 2;
    }
    return NULL;
}

static void run_piece(CpuJob *job, uint32_t piece, uint32_t place) {
    const uint64_t whole = job->units / job->pieces, rest = job->units % job->pieces;
    uint64_t begin = whole * piece + (piece < rest ? piece : rest);
    uint64_t end = begin + whole + (piece < rest);
    const uint32_t part = job->is_shared ? piece : place;
    take_error(job, piece, run_range(job, begin, end, part));
}

static uint32_t count_in(uint64_t claim, int shift) {
    return (uint32_t)(claim >> shift) & COUNT_MASK;
}

/* Claims and runs pieces of one generation until none is left. The launching thread's place is 0.
 */
static void run_pieces(CpuWorkers *workers, uint32_t generation, Side side) {
    uint32_t place = 0;
    uint64_t claim = atomic_load_explicit(&workers->claim, memory_order_acquire);
    for (;;) {
        const uint32_t front = count_in(claim, 0), behind = count_in(claim, BEHIND_SHIFT);
        const uint32_t pieces = count_in(claim, PIECES_SHIFT),
                       places = count_in(claim, PLACES_SHIFT);
        const bool enters = side == SIDE_BEHIND && place == 0;
        if ((uint32_t)(claim >> GENERATION_SHIFT) != generation || front + behind >= pieces) return;
        if (enters && places == 0) return;
        uint64_t taken = claim + (side == SIDE_FRONT ? 1u : 1u << BEHIND_SHIFT);
        if (enters) taken -= 1u << PLACES_SHIFT;
        if (!atomic_compare_exchange_weak_explicit(
                &workers->claim, &claim, taken, memory_order_acq_rel, memory_order_acquire))
            continue;
        if (enters) place = places;
        if (side == SIDE_BEHIND) kernel_stop_scope = workers->job.scope;
        run_piece(&workers->job, side == SIDE_FRONT ? front : pieces - 1 - behind, place);
        if (atomic_fetch_add(&workers->done, 1) + 1 == pieces && atomic_load(&workers->waiting))
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
        run_pieces(workers, seen, SIDE_BEHIND);
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

/* Starts workers. When the system gives no thread, the launching one runs more pieces. */
static void start_workers(CpuWorkers *workers, uint32_t count) {
    while (workers->started < count &&
           thread_start(&workers->threads[workers->started], "kernels", worker_main, workers))
        workers->started++;
}

static void wait_until_done(CpuWorkers *workers, uint32_t pieces) {
    for (uint32_t i = 0; spin(i); i++)
        if (atomic_load_explicit(&workers->done, memory_order_acquire) == pieces) return;
    atomic_store(&workers->waiting, 1);
    uint32_t done;
    while ((done = atomic_load(&workers->done)) != pieces) futex_wait(&workers->done, done);
    atomic_store(&workers->waiting, 0);
}

/* threads: at least 2, with the launching thread. */
static Error *run_with_workers(CpuWorkers *workers, const CpuJob *job, uint32_t threads) {
    if (workers->started < threads - 1) start_workers(workers, threads - 1);
    workers->job = *job;
    atomic_store_explicit(&workers->done, 0, memory_order_relaxed);
    uint32_t generation = atomic_load(&workers->generation) + 1;
    atomic_store_explicit(&workers->claim,
        (uint64_t)generation << GENERATION_SHIFT | (uint64_t)(threads - 1) << PLACES_SHIFT |
            (uint64_t)job->pieces << PIECES_SHIFT,
        memory_order_release);
    atomic_store(&workers->generation, generation);
    if (atomic_load(&workers->sleepers) > 0) futex_wake(&workers->generation, threads - 1);
    run_pieces(workers, generation, SIDE_FRONT);
    wait_until_done(workers, job->pieces);
    return workers->job.error;
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

/* Cuts the job to at most so many pieces for each thread. */
static Error *run_job(CpuDevice *device, CpuJob *job, uint32_t threads, uint64_t units_per_part_min,
    uint32_t pieces_per_thread) {
    if (job->units == 0) return NULL;
    const uint32_t parts = cpu_part_count(device, threads, job->units, units_per_part_min);
    job->scope = kernel_stop_scope;
    /* a unit that is worth a thread may be worth many */
    job->units_per_turn = units_per_part_min < 2 ? 2
                          : units_per_part_min < UINT64_MAX / 2 / TURN_PARTS
                              ? units_per_part_min * TURN_PARTS
                              : UINT64_MAX / 2;
    if (parts == 1) return run_range(job, 0, job->units, 0);
    uint32_t pieces = parts * pieces_per_thread;
    if (pieces > COUNT_MASK) pieces = COUNT_MASK;
    job->pieces = pieces < job->units ? pieces : (uint32_t)job->units;
    if (device->workers && pthread_mutex_trylock(&device->workers->mutex) == 0) {
        Error *error = run_with_workers(device->workers, job, parts);
        (void)pthread_mutex_unlock(&device->workers->mutex);
        return error;
    }
    for (uint32_t i = 0; i < job->pieces; i++) run_piece(job, i, 0);
    return job->error;
}

Error *cpu_for_each(CpuDevice *device, uint32_t threads, uint64_t units,
    uint64_t units_per_part_min, CpuTask *task, void *context) {
    CpuJob job = {.task = task, .context = context, .units = units};
    return run_job(device, &job, threads, units_per_part_min, PIECES_PER_THREAD);
}

Error *cpu_for_each_share(CpuDevice *device, uint32_t threads, uint64_t units,
    uint64_t units_per_part_min, CpuTask *task, void *context) {
    CpuJob job = {.task = task, .context = context, .units = units, .is_shared = true};
    return run_job(device, &job, threads, units_per_part_min, 1);
}
