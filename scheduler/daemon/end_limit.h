#pragma once
/* Bounds how long a daemon's end may take, whatever still runs: a thread of its own ends the
 * process unless it is released before. The home is consistent at any moment, as after kill -9.
 * Called by daemon.c.
 *
 * Threads: one, but for `cut`. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct EndLimit EndLimit;

/* cut:    called at due_ns (monotonic), on the limit's thread, unless the limit was released
 * before; ends the process. words: the text of the last end_limit_tell; left: SIZE_MAX before the
 * first.
 * Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *end_limit_start(uint64_t due_ns,
    void (*cut)(void *context, size_t left, const char *words), void *context, EndLimit **out);
/* left: unfinished jobs; words: of those that have not stopped, a line each; copied. */
void end_limit_tell(EndLimit *limit, size_t left, const char *words);
/* Waits for a `cut` that has begun. */
void end_limit_release(EndLimit *limit);
DEFINE_OWN(EndLimit, end_limit_release);
