#pragma once
/* Bounds how long a daemon's end may take, whatever still runs: a thread of its own that is called
 * off when the end has come. What a home holds is whole at any moment, as it is after kill -9.
 *
 * Threads: one, but for `cut`. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct EndLimit EndLimit;

/* cut:    called at due_ns (monotonic), on the limit's thread, unless it was released before; ends
 *         the process. words: what end_limit_tell said last; left: SIZE_MAX until it was called.
 * Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *end_limit_start(uint64_t due_ns,
    void (*cut)(void *context, size_t left, const char *words), void *context, EndLimit **out);
/* left: unfinished jobs; words: of those that have not stopped, a line each; copied. */
void end_limit_tell(EndLimit *limit, size_t left, const char *words);
/* Waits for a `cut` that was begun. */
void end_limit_release(EndLimit *limit);
DEFINE_OWN(EndLimit, end_limit_release);
