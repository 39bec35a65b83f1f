#pragma once
/* An atomic reference count, the first field of every counted object (kernels/, vm/,
 * store/weights).
 *
 * Threads: any. A count of 1 that the only owner reads stays 1; the sole-owner rule for in-place
 *          writes depends on this (docs/vm.md: tensors are values). */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Refcount {
    _Atomic uint32_t count;
} Refcount;

static inline void refcount_init(Refcount *refcount) { atomic_init(&refcount->count, 1); }

static inline void refcount_retain(Refcount *refcount) {
    atomic_fetch_add_explicit(&refcount->count, 1, memory_order_relaxed);
}

/* True when this was the last reference: the caller destroys the object. */
static inline bool refcount_release(Refcount *refcount) {
    /* the caller has the only reference, so no other thread can retain the object now */
    if (atomic_load_explicit(&refcount->count, memory_order_acquire) == 1) return true;
    return atomic_fetch_sub_explicit(&refcount->count, 1, memory_order_acq_rel) == 1;
}

/* True when the caller holds the only reference. */
static inline bool refcount_is_sole(const Refcount *refcount) {
    return atomic_load_explicit(&refcount->count, memory_order_acquire) == 1;
}
