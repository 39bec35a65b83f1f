#pragma once
/* Random bytes of the operating system, for secrets, keys and names that nobody may guess. Random
 * numbers that a run repeats come from kernels/tensor/philox.h. Threads: any. */
#include <stddef.h>

#include "base/error.h"

/* Fills out with random bytes. size: at most 256, which getrandom(2) gives at once. Errors: IO. */
MUST_CHECK Error *system_random(void *out, size_t size);
