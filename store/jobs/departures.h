#pragma once
/* Jobs on their way to another node, from the first word to it until it has said that it owns them.
 *
 *      begin -> (the job runs on) -> held -> moved -> end
 *        |                            |
 *        +-- abort                    +-- queued or suspended again: the attempt is over
 *
 * At most one attempt of a job at a time, each under the next number. A job's way out of `held`,
 * and its end, settle its departure in the same transaction (jobs_transition). */
#include "store/jobs/jobs.h"

typedef enum DepartureProgress { /* stored */
    DEPARTURE_UNDER_WAY = 0,
    DEPARTURE_IS_MOVED = 1,   /* the target owns it, though it may not know yet */
    DEPARTURE_IS_SETTLED = 2, /* it said so */
    DEPARTURE_IS_GIVEN_UP = 3,
} DepartureProgress;

typedef struct Departure {
    TenantId tenant;
    JobId job;
    uint64_t target; /* a node's number */
    int64_t epoch, attempt;
    DepartureProgress progress;
    bool suspended; /* what it is again if it stays: suspended instead of queued */
} Departure;

typedef struct DepartureList {
    Departure *items;
    size_t count;
    size_t damaged; /* rows that cannot be read (damaged_migrations.h), not among the items */
} DepartureList;

void departure_list_release(DepartureList *list);
DEFINE_OWN(DepartureList, departure_list_release);

/* Begins an attempt. node: what the target is called here.
 * Errors: NOT_FOUND; CONFLICT it has ended, is held or in doubt, or is migrating; INVALID no name
 * of a node. */
MUST_CHECK Error *departures_begin(Connection *catalog, TenantId tenant, JobId id, const char *node,
    uint64_t target, Departure *out_departure);
/* Ends the attempt of a job that is not held. Nothing happens when it is over already.
 * Errors: NOT_FOUND; CONFLICT the job is held, or moved. */
MUST_CHECK Error *departures_abort(
    Connection *catalog, TenantId tenant, JobId id, int64_t attempt, const char *why);
/* The target owns it: its data here goes, its tombstone stays. Nothing happens when that is done.
 * Errors: NOT_FOUND; CONFLICT it has not moved. */
MUST_CHECK Error *departures_end(Connection *catalog, TenantId tenant, JobId id, int64_t attempt);

/* Another node took the job over, as a person said that this one is dead: from here on this is the
 * departure of its present epoch, and the job is to become `moved`. node: what that one is called
 * here. Errors: NOT_FOUND; CONFLICT it has ended; REFUSED the job was never offered to it. */
MUST_CHECK Error *departures_fence(
    Connection *catalog, TenantId tenant, JobId id, const char *node, uint64_t target);

/* All that are not settled. */
MUST_CHECK Error *departures_list(Store *store, DepartureList **out_list);
/* Of the job's present epoch, unless that was given up. Errors: NOT_FOUND. */
MUST_CHECK Error *departures_find(
    Store *store, TenantId tenant, JobId id, bool *out_found, Departure *out_departure);
/* Where a moved job went. Errors: NOT_FOUND; CONFLICT it has not moved. */
MUST_CHECK Error *departures_find_target(
    Store *store, TenantId tenant, JobId id, uint64_t *out_target);
/* What became of an attempt: answered to the target, for ever. */
typedef enum DepartureOutcome {
    DEPARTURE_PENDING, /* it goes on */
    DEPARTURE_MOVED,
    DEPARTURE_ABORTED, /* or there never was such an attempt */
} DepartureOutcome;
/* target: who asks; another node's attempts are aborted to it. */
MUST_CHECK Error *departures_find_outcome(Store *store, JobId id, uint64_t target, int64_t epoch,
    int64_t attempt, DepartureOutcome *out_outcome);
