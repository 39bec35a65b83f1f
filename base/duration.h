#pragma once
/* How long things last, in nanoseconds. */
#include <stdint.h>

#define MILLISECOND_NS ((uint64_t)1000000)
#define SECOND_NS (1000 * MILLISECOND_NS)
#define MINUTE_NS (60 * SECOND_NS)
