#include "base/spin.h"

#include "base/clock.h"
#include "base/worker_pool.h"

enum {
    LOOKS = 64, /* at the flag for each look at the clock */
    LIMIT_NS = 40000,
};

uint64_t spin_limit_ns(void) { return worker_pool_core_count() > 1 ? LIMIT_NS : 0; }

static void pause_core(void) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

static bool look(const atomic_bool *flag) {
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(flag, memory_order_acquire)) return true;
        pause_core();
    }
    return false;
}

static bool look_changed(const _Atomic uint64_t *value, uint64_t from) {
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(value, memory_order_acquire) != from) return true;
        pause_core();
    }
    return false;
}

bool spin_until(const atomic_bool *flag, uint64_t limit_ns) {
    uint64_t end_ns = clock_now_ns(clock_real()) + limit_ns;
    while (!look(flag))
        if (clock_now_ns(clock_real()) >= end_ns) return atomic_load(flag);
    return true;
}

bool spin_until_changed(const _Atomic uint64_t *value, uint64_t from, uint64_t limit_ns) {
    if (atomic_load_explicit(value, memory_order_acquire) != from) return true;
    if (limit_ns == 0) return false;
    uint64_t end_ns = clock_now_ns(clock_real()) + limit_ns;
    while (!look_changed(value, from))
        if (clock_now_ns(clock_real()) >= end_ns) return atomic_load(value) != from;
    return true;
}
