#pragma once
/* How a long kernel is stopped: an execution has one KernelStop, the control thread sets the
 * request, and kernels check it between pieces of their work (kernel_stop_check), at most some
 * milliseconds apart.
 *
 *     kernel_stop_want(ABANDON)   the kernel returns error_abandoned() if its inputs are still
 *                                 whole: the instruction can be executed again
 *     kernel_stop_want(DISCARD)   the kernel returns in any case: the execution is thrown away
 *     kernel_stop_pause(from)     from that time on the kernel waits where it is, with all of its
 *                                 threads, until kernel_stop_resume
 *
 * A kernel sees the stop of the scope that its thread is in. The VM enters a scope around an
 * execution's instructions; code that lets another thread work for a kernel passes the scope on.
 *
 * Threads: any; init, deinit and set_listener while no kernel runs under it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum {
    KERNEL_STOP_ABANDON = 1,
    KERNEL_STOP_DISCARD = 2,
    KERNEL_STOP_PAUSE = 4,
    KERNEL_STOP_COUNTED = 8, /* tests: ABANDON at the `countdown`th check */
};

typedef struct KernelStop {
    _Atomic uint32_t wanted;
    _Atomic uint64_t countdown;
    /* The members below are guarded by the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t pause_from_ns; /* on the monotonic clock */
    bool told;              /* the listener was called for this pause */
    /* Called by the first thread that pauses, with the mutex held: must not wait. NULL: none. */
    void (*paused)(void *listener);
    void *listener;
    const char *kernel;        /* the long kernel that computes now; NULL: none */
    uint64_t kernel_since_ns;  /* on the monotonic clock */
    uint64_t kernel_paused_ns; /* the part of that time in which it was to pause */
    _Atomic uint64_t *kernel_took_ns;
} KernelStop;

/* A long kernel as it is shown to people. */
typedef struct LongKernel {
    const char *name; /* the operator's; NULL: none computes */
    uint64_t computed_ns;
    uint64_t usual_ns; /* the duration of such a call before; 0: not known */
} LongKernel;

typedef struct KernelStopScope {
    KernelStop *stop; /* NULL: this thread is not stopped */
    bool whole;       /* the kernel's inputs stay unchanged until it has ended */
    bool pauses;      /* false: the thread may not wait, since others need it */
} KernelStopScope;

extern _Thread_local KernelStopScope kernel_stop_scope; /* of this thread */

void kernel_stop_init(KernelStop *stop);
void kernel_stop_deinit(KernelStop *stop);
void kernel_stop_set_listener(KernelStop *stop, void (*paused)(void *listener), void *listener);

/* wanted: KERNEL_STOP_ABANDON or KERNEL_STOP_DISCARD. A paused kernel wakes and obeys. */
void kernel_stop_want(KernelStop *stop, uint32_t wanted);
void kernel_stop_pause(KernelStop *stop, uint64_t from_ns);
/* Ends the pause: a paused kernel continues, and a requested pause is withdrawn. */
void kernel_stop_resume(KernelStop *stop);
/* Withdraws every request but DISCARD. */
void kernel_stop_clear(KernelStop *stop);

/* Begin and end a long kernel; between the two, kernel_stop_get_kernel describes it. name: static.
 * took_ns: the duration of such a call, 0 if not known; written at the end of a whole one. Threads:
 * the execution's own; any for the third. */
void kernel_stop_begin_kernel(KernelStop *stop, const char *name, _Atomic uint64_t *took_ns);
void kernel_stop_end_kernel(KernelStop *stop, bool whole);
LongKernel kernel_stop_get_kernel(KernelStop *stop);

/* Returns the present request. A pause counts only from its time on. */
uint32_t kernel_stop_get(KernelStop *stop);
/* Calls the listener if it is time to pause and the listener was not called, for a kernel in
 * another process. True: the kernel is to pause. */
bool kernel_stop_tell_paused(KernelStop *stop);
/* Makes this stop follow `wanted`, which another process writes, from now on. */
void kernel_stop_follow(KernelStop *stop, const _Atomic uint32_t *wanted);

MUST_CHECK Error *kernel_stop_obey(void);
/* Called between two pieces of work. Errors: ABANDONED. Waits while the kernel is to pause. */
MUST_CHECK static inline Error *kernel_stop_check(void) {
    const KernelStop *stop = kernel_stop_scope.stop;
    if (__builtin_expect(!stop, 0)) return NULL;
    if (__builtin_expect(!atomic_load_explicit(&stop->wanted, memory_order_relaxed), 1))
        return NULL;
    return kernel_stop_obey();
}

/* The same for functions that cannot fail. True: return at once; the caller checks with
 * kernel_stop_check before it uses a result. */
static inline bool kernel_stop_ends(void) { return kernel_stop_check() != NULL; }
/* The same for threads that others wait for: never pauses. True: abandon the work. */
bool kernel_stop_leaves(void);

/* For loops with short turns: checks after `every` units of work. */
typedef struct KernelStopMeter {
    uint64_t left;
} KernelStopMeter;
enum { KERNEL_STOP_UNITS = 1 << 20 }; /* simple steps between two checks: about a millisecond */
MUST_CHECK static inline Error *kernel_stop_count(KernelStopMeter *meter, uint64_t units) {
    meter->left += units;
    if (__builtin_expect(meter->left < KERNEL_STOP_UNITS, 1)) return NULL;
    meter->left = 0;
    return kernel_stop_check();
}
/* memcpy that checks every few megabytes. */
MUST_CHECK Error *kernel_stop_copy(void *to, const void *from, uint64_t size);
/* For turn `i` of a loop of many short turns. True: as kernel_stop_ends. */
enum { KERNEL_STOP_TURNS = 1 << 16 };
static inline bool kernel_stop_ends_at(int64_t i) {
    return __builtin_expect(i % KERNEL_STOP_TURNS == KERNEL_STOP_TURNS - 1, 0) &&
           kernel_stop_ends();
}
/* The end of the next piece of a loop over [begin, size) that cannot afford a test in each turn. */
static inline int64_t kernel_stop_piece(int64_t begin, int64_t size) {
    return size - begin > KERNEL_STOP_TURNS ? begin + KERNEL_STOP_TURNS : size;
}
/* A loop over begin, begin + step, ... below size that checks between pieces: each piece is as fast
 * as a loop without checks. Like kernel_stop_ends, the loop may end early. `break` leaves only the
 * piece. step divides KERNEL_STOP_TURNS. */
#define KERNEL_STOP_EVERY(i, begin, size, step)                                                    \
    for (int64_t i##_from = (begin), i##_end;                                                      \
         i##_from < (size) && (i##_end = kernel_stop_piece(i##_from, size), true);                 \
         i##_from = __builtin_expect(i##_end < (size), 0) && kernel_stop_ends() ? (size)           \
                                                                                : i##_end)         \
        for (int64_t i = i##_from; i < i##_end; i += (step))
#define KERNEL_STOP_EACH(i, begin, size) KERNEL_STOP_EVERY (i, begin, size, 1)
/* As kernel_stop_ends. */
static inline bool kernel_stop_ends_after(KernelStopMeter *meter, uint64_t units) {
    return kernel_stop_count(meter, units) != NULL;
}
