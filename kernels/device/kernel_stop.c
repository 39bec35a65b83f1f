#include "kernels/device/kernel_stop.h"

#include <string.h>

#include "base/clock.h"

_Thread_local KernelStopScope kernel_stop_scope;

void kernel_stop_init(KernelStop *stop) {
    *stop = (KernelStop){0};
    (void)pthread_mutex_init(&stop->mutex, NULL);
    (void)pthread_cond_init(&stop->changed, NULL);
}

void kernel_stop_deinit(KernelStop *stop) {
    (void)pthread_cond_destroy(&stop->changed);
    (void)pthread_mutex_destroy(&stop->mutex);
}

void kernel_stop_set_listener(KernelStop *stop, void (*paused)(void *listener), void *listener) {
    (void)pthread_mutex_lock(&stop->mutex);
    stop->paused = paused;
    stop->listener = listener;
    (void)pthread_mutex_unlock(&stop->mutex);
}

/* Called under the mutex when a pause ends: adds its time. */
static void count_pause(KernelStop *stop) {
    const uint64_t now_ns = clock_now_ns(clock_real());
    uint64_t from_ns = stop->pause_from_ns;
    if (!(atomic_load(&stop->wanted) & KERNEL_STOP_PAUSE)) return;
    if (from_ns < stop->kernel_since_ns) from_ns = stop->kernel_since_ns;
    if (stop->kernel && now_ns > from_ns) stop->kernel_paused_ns += now_ns - from_ns;
}

void kernel_stop_begin_kernel(KernelStop *stop, const char *name, _Atomic uint64_t *took_ns) {
    (void)pthread_mutex_lock(&stop->mutex);
    stop->kernel = name;
    stop->kernel_since_ns = clock_now_ns(clock_real());
    stop->kernel_paused_ns = 0;
    stop->kernel_took_ns = took_ns;
    (void)pthread_mutex_unlock(&stop->mutex);
}

/* Called under the mutex. */
static uint64_t computed_ns(const KernelStop *stop) {
    uint64_t end_ns = clock_now_ns(clock_real());
    const bool waits =
        atomic_load(&stop->wanted) & KERNEL_STOP_PAUSE && stop->pause_from_ns < end_ns;
    if (waits) end_ns = stop->pause_from_ns;
    if (end_ns < stop->kernel_since_ns) end_ns = stop->kernel_since_ns;
    const uint64_t all_ns = end_ns - stop->kernel_since_ns;
    return all_ns > stop->kernel_paused_ns ? all_ns - stop->kernel_paused_ns : 0;
}

void kernel_stop_end_kernel(KernelStop *stop, bool whole) {
    (void)pthread_mutex_lock(&stop->mutex);
    if (whole) atomic_store(stop->kernel_took_ns, computed_ns(stop));
    stop->kernel = NULL;
    (void)pthread_mutex_unlock(&stop->mutex);
}

LongKernel kernel_stop_get_kernel(KernelStop *stop) {
    LongKernel kernel = {0};
    (void)pthread_mutex_lock(&stop->mutex);
    if (stop->kernel)
        kernel = (LongKernel){stop->kernel, computed_ns(stop), atomic_load(stop->kernel_took_ns)};
    (void)pthread_mutex_unlock(&stop->mutex);
    return kernel;
}

void kernel_stop_want(KernelStop *stop, uint32_t wanted) {
    (void)pthread_mutex_lock(&stop->mutex);
    count_pause(stop);
    /* a paused kernel that may not be abandoned runs to its end, since no later call resumes it */
    atomic_fetch_and(&stop->wanted, ~(uint32_t)KERNEL_STOP_PAUSE);
    atomic_fetch_or(&stop->wanted, wanted);
    (void)pthread_cond_broadcast(&stop->changed);
    (void)pthread_mutex_unlock(&stop->mutex);
}

void kernel_stop_pause(KernelStop *stop, uint64_t from_ns) {
    (void)pthread_mutex_lock(&stop->mutex);
    if (!(atomic_load(&stop->wanted) & (KERNEL_STOP_ABANDON | KERNEL_STOP_DISCARD))) {
        count_pause(stop); /* the time of the pause so far */
        stop->pause_from_ns = from_ns;
        atomic_fetch_or(&stop->wanted, KERNEL_STOP_PAUSE);
    }
    (void)pthread_mutex_unlock(&stop->mutex);
}

static void end_pause(KernelStop *stop, uint32_t kept) {
    (void)pthread_mutex_lock(&stop->mutex);
    count_pause(stop);
    atomic_fetch_and(&stop->wanted, kept);
    stop->told = false;
    (void)pthread_cond_broadcast(&stop->changed);
    (void)pthread_mutex_unlock(&stop->mutex);
}

void kernel_stop_resume(KernelStop *stop) { end_pause(stop, ~(uint32_t)KERNEL_STOP_PAUSE); }

uint32_t kernel_stop_get(KernelStop *stop) {
    const uint32_t known = KERNEL_STOP_ABANDON | KERNEL_STOP_DISCARD | KERNEL_STOP_PAUSE;
    uint32_t wanted = atomic_load(&stop->wanted) & known;
    if (!(wanted & KERNEL_STOP_PAUSE)) return wanted;
    (void)pthread_mutex_lock(&stop->mutex);
    wanted = atomic_load(&stop->wanted) & known;
    if (clock_now_ns(clock_real()) < stop->pause_from_ns) wanted &= ~(uint32_t)KERNEL_STOP_PAUSE;
    (void)pthread_mutex_unlock(&stop->mutex);
    return wanted;
}

bool kernel_stop_tell_paused(KernelStop *stop) {
    if (!(atomic_load(&stop->wanted) & KERNEL_STOP_PAUSE)) return false;
    (void)pthread_mutex_lock(&stop->mutex);
    const bool pauses = atomic_load(&stop->wanted) & KERNEL_STOP_PAUSE &&
                        clock_now_ns(clock_real()) >= stop->pause_from_ns;
    if (pauses && !stop->told && stop->paused) stop->paused(stop->listener);
    stop->told |= pauses;
    (void)pthread_mutex_unlock(&stop->mutex);
    return pauses;
}

void kernel_stop_follow(KernelStop *stop, const _Atomic uint32_t *wanted) {
    const uint32_t known = KERNEL_STOP_ABANDON | KERNEL_STOP_DISCARD | KERNEL_STOP_PAUSE;
    /* under the mutex, so that an older value never replaces a newer one */
    (void)pthread_mutex_lock(&stop->mutex);
    atomic_store(&stop->wanted, atomic_load(wanted) & known);
    stop->pause_from_ns = 0;
    (void)pthread_cond_broadcast(&stop->changed);
    (void)pthread_mutex_unlock(&stop->mutex);
}

void kernel_stop_clear(KernelStop *stop) { end_pause(stop, KERNEL_STOP_DISCARD); }

static bool is_to_leave(KernelStop *stop, bool whole) {
    const uint32_t wanted = atomic_load(&stop->wanted);
    if (wanted & KERNEL_STOP_DISCARD) return true;
    if (!whole) return false;
    if (wanted & KERNEL_STOP_ABANDON) return true;
    if (!(wanted & KERNEL_STOP_COUNTED) || atomic_fetch_sub(&stop->countdown, 1) != 1) return false;
    atomic_fetch_or(&stop->wanted, KERNEL_STOP_ABANDON);
    return true;
}

static void wait_for_resume(KernelStop *stop, bool whole) {
    (void)pthread_mutex_lock(&stop->mutex);
    while (atomic_load(&stop->wanted) & KERNEL_STOP_PAUSE && !is_to_leave(stop, whole) &&
           clock_now_ns(clock_real()) >= stop->pause_from_ns) {
        if (!stop->told && stop->paused) stop->paused(stop->listener);
        stop->told = true;
        (void)pthread_cond_wait(&stop->changed, &stop->mutex);
    }
    (void)pthread_mutex_unlock(&stop->mutex);
}

bool kernel_stop_leaves(void) {
    const KernelStopScope scope = kernel_stop_scope;
    return scope.stop && atomic_load_explicit(&scope.stop->wanted, memory_order_relaxed) &&
           is_to_leave(scope.stop, scope.whole);
}

Error *kernel_stop_copy(void *to, const void *from, uint64_t size) {
    enum { PART = 4 << 20 };
    for (uint64_t done = 0, part; done < size; done += part) {
        part = size - done < PART ? size - done : PART;
        if (done > 0) TRY(kernel_stop_check());
        memcpy((char *)to + done, (const char *)from + done, (size_t)part);
    }
    return NULL;
}

Error *kernel_stop_obey(void) {
    const KernelStopScope scope = kernel_stop_scope;
    if (is_to_leave(scope.stop, scope.whole)) return error_abandoned();
    if (!scope.pauses || !(atomic_load(&scope.stop->wanted) & KERNEL_STOP_PAUSE)) return NULL;
    wait_for_resume(scope.stop, scope.whole);
    return is_to_leave(scope.stop, scope.whole) ? error_abandoned() : NULL;
}
