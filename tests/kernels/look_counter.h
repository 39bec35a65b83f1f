#pragma once
/* Counts the work that a kernel does between two looks at its stop. The kernels are compiled so
 * that each basic block reports itself (-fsanitize-coverage=trace-pc), and the linker puts these
 * functions before the real ones (--wrap): work is a number of blocks, not a time, and the clock
 * that kernels read advances with it. So a result is the same on every machine and under any load.
 *
 * Threads: the calling thread's work counts; launches under test use one thread. */
#include <stdint.h>

#include "base/error.h"

/* A block is some nanoseconds, 8 where it holds a vector of exponentials without AVX2: 6 million
 * blocks are some 20 ms, 50 ms at worst. */
enum { LOOK_WORK_MAX = 6 << 20, LOOK_BLOCK_NS = 8, LOOK_BYTES_PER_BLOCK = 64 };

typedef struct LookCount {
    uint64_t work;  /* in all */
    uint64_t worst; /* the most between two looks, begin and end among them */
    uint64_t looks;
    uint64_t last; /* since a look first said to abandon the kernel */
} LookCount;

/* From now on. */
void look_counter_begin(void);
LookCount look_counter_end(void);
