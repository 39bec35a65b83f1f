#pragma once
/* The name that is nearest to one that does not exist, for messages. Callers: Relay's type check,
 * the command line. Pure: no state, any thread. */
#include <stdint.h>

enum { NEAREST_NAME_MAX = 64 }; /* longer names are near to none */

typedef struct Nearest {
    const char *wanted;
    const char *found; /* NULL: none is near */
    uint32_t distance;
} Nearest;

Nearest nearest_to(const char *wanted);
/* Considers a name, which must live as long as `nearest` is read. */
void nearest_try(Nearest *nearest, const char *name);

/* "; the nearest is @name" or nothing, for FAIL: NEAREST_TEXT, NEAREST_NAME(nearest, "@"). */
#define NEAREST_TEXT "%s%s%s"
#define NEAREST_NAME(nearest, sigil)                                                               \
    (nearest).found ? "; the nearest is " : "", (nearest).found ? (sigil) : "",                    \
        (nearest).found ? (nearest).found : ""
