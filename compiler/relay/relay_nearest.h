#pragma once
/* The name that is nearest to one that does not exist, for messages. Callers: the type check.
 * Threads: any. */
#include <stdint.h>

typedef struct RelayNearest {
    const char *wanted;
    const char *found; /* NULL: none is near */
    uint32_t distance;
} RelayNearest;

RelayNearest relay_nearest(const char *wanted);
/* Considers a name, which must live as long as `nearest` is read. */
void relay_nearest_try(RelayNearest *nearest, const char *name);

/* "; the nearest is @name" or nothing, for FAIL: RELAY_NEAR, RELAY_NEAREST(nearest, "@"). */
#define RELAY_NEAR "%s%s%s"
#define RELAY_NEAREST(nearest, sigil)                                                              \
    (nearest).found ? "; the nearest is " : "", (nearest).found ? (sigil) : "",                    \
        (nearest).found ? (nearest).found : ""
