#pragma once
/* Jobs that come from another node, until it is known whose they are.
 *
 *      offer (nothing is in jobs) -> prepared (the job is in_doubt) -> the job is queued or
 * suspended |                             |
 *        +-- expire, abort             +-- abort: there is no job, or its tombstone again
 *
 * A job's way out of `in_doubt` ends its arrival in the same transaction (jobs_transition). */
#include "store/jobs/jobs.h"

typedef enum ArrivalProgress { /* stored */
    ARRIVAL_IS_OFFERED = 0,
    ARRIVAL_IS_PREPARED = 1, /* its job is in doubt */
    ARRIVAL_IS_ADOPTED = 2,  /* ours without the source's word: it is to be told */
} ArrivalProgress;

typedef struct Arrival {
    JobId job;
    TenantId tenant;
    uint64_t source; /* a node's number */
    int64_t epoch;   /* there; here it is one more */
    int64_t attempt; /* the source's */
    ArrivalProgress progress;
    bool suspended; /* what it becomes: suspended instead of queued */
    /* The home's time (alive_time.h) when the source was last heard of it; read only: the store
     * stamps what is offered or prepared. */
    double touched;
} Arrival;

typedef struct ArrivalList {
    Arrival *items;
    size_t count;
    size_t damaged; /* rows that cannot be read (damaged_migrations.h), not among the items */
} ArrivalList;

void arrival_list_release(ArrivalList *list);
DEFINE_OWN(ArrivalList, arrival_list_release);

/* Takes an offer: durable, so that one of an older attempt is refused from here on. The same again
 * is the same; a newer one replaces it. `progress` of the argument means nothing.
 * Errors: CONFLICT a newer attempt is known, this one is prepared, the job is here, or its
 *         tombstone is not older. */
MUST_CHECK Error *arrivals_offer(Connection *catalog, const Arrival *arrival);
/* The attempt is over: what came of it goes. Nothing happens to another attempt.
 * out_removed: there was a job in doubt. */
MUST_CHECK Error *arrivals_abort(Connection *catalog, JobId id, uint64_t source, int64_t epoch,
    int64_t attempt, bool *out_removed);
/* Before a job in doubt becomes ours without the source's word: its arrival stays until the source
 * was told (arrivals_forget). Errors: CONFLICT it is not prepared. */
MUST_CHECK Error *arrivals_adopt(Connection *catalog, JobId id);
MUST_CHECK Error *arrivals_forget(Connection *catalog, JobId id);
/* Forgets offers that were not prepared and not heard of for so long by the home's time
 * (alive_time.h), and up to a minute more. */
MUST_CHECK Error *arrivals_expire(Connection *catalog, double silence_s);
/* How long by the home's time, in steps of a minute, the source was not heard of it. */
MUST_CHECK Error *arrivals_read_silence(
    Store *store, const Arrival *arrival, double *out_silence_s);

MUST_CHECK Error *arrivals_find(Store *store, JobId id, bool *out_found, Arrival *out_arrival);
MUST_CHECK Error *arrivals_list(Store *store, ArrivalList **out_list);
