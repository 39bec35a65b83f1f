#pragma once
/* Indices that come from data: loaded once, checked, negative ones counted from the end. Called by
 * the kernels of indices, on the threads of a launch. Pure: no state. */
#include <inttypes.h>
#include <string.h>

#include "kernels/cpu/core/cpu_internal.h"

typedef struct CpuIndices {
    const void *data;
    bool wide; /* the indices are int64; false: int32 */
} CpuIndices;

/* Loads the index at a position. Another holder of the memory may rewrite it at any moment, so the
 * result of this one load is both checked and used. */
static inline int64_t cpu_index_load(const CpuIndices *indices, int64_t position) {
    if (indices->wide) return ((const volatile int64_t *)indices->data)[position];
    return ((const volatile int32_t *)indices->data)[position];
}

/* False when the index is outside [-dim, dim). */
static inline bool cpu_index_wrap(int64_t index, int64_t dim, int64_t *out) {
    if (index < -dim || index >= dim) return false;
    *out = index < 0 ? index + dim : index;
    return true;
}

static inline MUST_CHECK Error *cpu_index_error(
    const char *name, int64_t index, int64_t position, int64_t dim) {
    FAIL(FAILED,
        "%s: index %" PRId64 " at position %" PRId64 " is outside [%" PRId64 ", %" PRId64 "]", name,
        index, position, -dim, dim - 1);
}

/* Copies one element of 1, 2, 4 or 8 bytes, or any number of bytes. */
enum { CPU_MOVE_MAX = 4 << 20 };
static inline void cpu_move(void *to, const void *from, size_t size) {
    switch (size) {
    case 1:
        memcpy(to, from, 1);
        break;
    case 2:
        memcpy(to, from, 2);
        break;
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    default:
        if (__builtin_expect(size <= CPU_MOVE_MAX, 1))
            memcpy(to, from, size);
        else
            error_free(kernel_stop_copy(to, from, size)); /* the caller checks the stop, too */
    }
}

/* Writes count equal elements of 1, 2, 4 or 8 bytes; element is not one of them. */
static inline void cpu_fill(void *to, const void *element, size_t size, int64_t count) {
    char *at = to;
    if (size == 1) {
        memset(to, *(const uint8_t *)element, (size_t)count);
        return;
    }
    for (int64_t i = 0; size == 2 && i < count; i++) memcpy(at + i * 2, element, 2);
    for (int64_t i = 0; size == 4 && i < count; i++) memcpy(at + i * 4, element, 4);
    for (int64_t i = 0; size == 8 && i < count; i++) memcpy(at + i * 8, element, 8);
}
