#pragma once
/* What a daemon does by itself, in a thread of its own: the time that the home is alive is counted
 * (store/database/alive_time.h), finished jobs go when their tenant's retention is over by that
 * time, what is left of removed jobs and models goes, verifications that nobody waits for end, and
 * what nothing refers to any more is swept.
 *
 * A turn comes at once and then once a minute. It deletes HOUSEKEEPING_EXPIRED_MAX jobs at most, a
 * few in each piece of catalog work, so that nobody waits for it. A gc comes when
 * HOUSEKEEPING_GC_BYTES were let go, ten minutes apart at least, and once a day in any case: after
 * a crash nobody knows what was let go. */
#include "base/clock.h"
#include "scheduler/node/metrics.h"
#include "store/database/catalog.h"
#include "store/weights/weight_cache.h"

enum { HOUSEKEEPING_EXPIRED_MAX = 4096 }; /* jobs a turn */
#define HOUSEKEEPING_GC_BYTES ((uint64_t)64 << 20)

typedef struct Housekeeping Housekeeping;

typedef struct HousekeepingOptions {
    Store *store; /* borrowed, as are the next three */
    Catalog *catalog;
    WeightCache *weights; /* NULL: there is none */
    Metrics *metrics;     /* NULL: nobody counts */
    Clock clock;
    /* Ends what nobody waits for. NULL: there is no such thing. */
    Error *(*settle)(void *context);
    void *settle_context;
    /* What failed; the next turn tries again. Called on the thread; the same text is not said twice
     * in a row. */
    void (*warn)(void *context, const char *text);
    void *context;
} HousekeepingOptions;

/* Without its thread: for housekeeping_turn alone. */
MUST_CHECK Error *housekeeping_create(
    const HousekeepingOptions *options, Housekeeping **out_housekeeping);
MUST_CHECK Error *housekeeping_start(Housekeeping *housekeeping);
/* Something was removed: what is left of it goes now. Threads: any. */
void housekeeping_wake(Housekeeping *housekeeping);
/* Ends a turn that is under way early. */
void housekeeping_release(Housekeeping *housekeeping);
DEFINE_OWN(Housekeeping, housekeeping_release);

/* What is due by the clock. Threads: one. */
MUST_CHECK Error *housekeeping_turn(Housekeeping *housekeeping);
