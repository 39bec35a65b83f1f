#pragma once
/* The daemon's periodic work, in a thread of its own: counts the time that the home is alive
 * (store/database/alive_time.h), removes finished jobs after their tenant's retention by that time,
 * deletes the remains of removed jobs and models, ends verifications that no request waits for, and
 * sweeps unreferenced chunks (gc). Made by daemon.c.
 *
 * A turn comes at once and then once a minute. It deletes HOUSEKEEPING_EXPIRED_MAX jobs at most, a
 * few in each piece of catalog work, so that no request waits for it. A gc comes when
 * HOUSEKEEPING_GC_BYTES were released, at least ten minutes after the last one, and once a day in
 * any case, since after a crash the released bytes are not known. */
#include "base/clock.h"
#include "scheduler/node/metrics.h"
#include "store/database/catalog.h"
#include "store/weights/weight_cache.h"

enum { HOUSEKEEPING_EXPIRED_MAX = 4096 }; /* jobs in a turn */
#define HOUSEKEEPING_GC_BYTES ((uint64_t)64 << 20)

typedef struct Housekeeping Housekeeping;

typedef struct HousekeepingOptions {
    Store *store; /* borrowed, as are catalog, weights and metrics */
    Catalog *catalog;
    WeightCache *weights; /* NULL: there is no cache */
    Metrics *metrics;     /* NULL: no counting */
    Clock clock;
    /* Ends verifications that no request waits for. NULL: nothing to end. */
    Error *(*settle)(void *context);
    void *settle_context;
    /* Called with an error's text on the thread; the next turn tries again. The same text is not
     * repeated in a row. */
    void (*warn)(void *context, const char *text);
    void *context;
} HousekeepingOptions;

/* Makes the object without its thread: for housekeeping_turn alone. */
MUST_CHECK Error *housekeeping_create(
    const HousekeepingOptions *options, Housekeeping **out_housekeeping);
MUST_CHECK Error *housekeeping_start(Housekeeping *housekeeping);
/* Called when something was removed: the thread deletes the remains now. Threads: any. */
void housekeeping_wake(Housekeeping *housekeeping);
/* Ends a running turn early. */
void housekeeping_release(Housekeeping *housekeeping);
DEFINE_OWN(Housekeeping, housekeeping_release);

/* Does the work that is due by the clock. Threads: one. */
MUST_CHECK Error *housekeeping_turn(Housekeeping *housekeeping);
