#pragma once
/* Units of time in nanoseconds. Pure: constants only. */
#include <stdint.h>

#define MILLISECOND_NS ((uint64_t)1000000)
#define SECOND_NS (1000 * MILLISECOND_NS)
#define MINUTE_NS (60 * SECOND_NS)
