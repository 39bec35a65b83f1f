#include "tests/kernels/look_counter.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/device/kernel_stop.h"

static LookCount count;
static uint64_t since;
static bool counts, abandoned;
static uint64_t abandoned_at; /* work */
static uint64_t now_ns;

static void add(uint64_t work) {
    since += work;
    now_ns += work * LOOK_BLOCK_NS;
}

static void look(void) {
    if (since > count.worst) count.worst = since;
    count.work += since;
    since = 0;
}

void look_counter_begin(void) {
    count = (LookCount){0};
    since = 0;
    abandoned = false;
    counts = true;
}

LookCount look_counter_end(void) {
    look();
    counts = false;
    count.last = abandoned ? count.work - abandoned_at : 0;
    return count;
}

/* The names are the compiler's and the linker's. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) { add(1); }

Error *__real_kernel_stop_obey(void);
Error *__wrap_kernel_stop_obey(void);
Error *__wrap_kernel_stop_obey(void) {
    if (counts) {
        look();
        count.looks++;
    }
    Error *error = __real_kernel_stop_obey();
    if (error && !abandoned) {
        abandoned = true;
        abandoned_at = count.work;
    }
    return error;
}

static uint64_t monotonic_ns(void *self) {
    (void)self;
    return now_ns;
}
Clock __wrap_clock_real(void);
Clock __wrap_clock_real(void) { return (Clock){.monotonic_ns = monotonic_ns}; }

void *__wrap_memcpy(void *to, const void *from, size_t size);
void *__wrap_memmove(void *to, const void *from, size_t size);
void *__wrap_memset(void *to, int value, size_t size);
int __wrap_memcmp(const void *a, const void *b, size_t size);
void *__real_memcpy(void *to, const void *from, size_t size);
void *__real_memmove(void *to, const void *from, size_t size);
void *__real_memset(void *to, int value, size_t size);
int __real_memcmp(const void *a, const void *b, size_t size);

void *__wrap_memcpy(void *to, const void *from, size_t size) {
    add(size / LOOK_BYTES_PER_BLOCK);
    return __real_memcpy(to, from, size);
}
void *__wrap_memmove(void *to, const void *from, size_t size) {
    add(size / LOOK_BYTES_PER_BLOCK);
    return __real_memmove(to, from, size);
}
void *__wrap_memset(void *to, int value, size_t size) {
    add(size / LOOK_BYTES_PER_BLOCK);
    return __real_memset(to, value, size);
}
int __wrap_memcmp(const void *a, const void *b, size_t size) {
    add(size / LOOK_BYTES_PER_BLOCK);
    return __real_memcmp(a, b, size);
}
