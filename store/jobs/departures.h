#pragma once
/* Jobs that leave for another node, from the first request until the target has confirmed that it
 * owns them. scheduler/migration drives a departure; scheduler/service answers who owns a moved
 * job.
 *
 *      begin -> (the job keeps running) -> held -> moved -> end
 *        |                                  |
 *        +-- abort                          +-- queued or suspended again: the attempt is over
 *
 * A job has at most one attempt at a time; each attempt has the next number. When a job leaves
 * `held` or ends, the same transaction settles its departure (jobs_transition). Threads: functions
 * with a Connection run in catalog work (catalog.h), the others in any thread. */
#include "store/jobs/job_row.h"

typedef enum DepartureProgress { /* stored */
    DEPARTURE_UNDER_WAY = 0,
    DEPARTURE_IS_MOVED = 1,   /* the target owns the job; the target may not know this yet */
    DEPARTURE_IS_SETTLED = 2, /* the target has confirmed that it owns the job */
    DEPARTURE_IS_GIVEN_UP = 3,
} DepartureProgress;

typedef struct Departure {
    TenantId tenant;
    JobId job;
    uint64_t target; /* a node's number */
    int64_t epoch, attempt;
    DepartureProgress progress;
    bool suspended; /* the job becomes suspended, not queued, if it stays here */
} Departure;

typedef struct DepartureList {
    Departure *items;
    size_t count;
    size_t damaged; /* rows that cannot be read (damaged_migrations.h), not among the items */
} DepartureList;

void departure_list_release(DepartureList *list);
DEFINE_OWN(DepartureList, departure_list_release);

/* Begins an attempt. node: the target's name in this home.
 * Errors: NOT_FOUND; CONFLICT the job has ended, is held or in doubt, or is migrating; INVALID the
 *         name of the node. */
MUST_CHECK Error *departures_begin(Connection *catalog, TenantId tenant, JobId id, const char *node,
    uint64_t target, Departure *out_departure);
/* Ends the attempt of a job that is not held. Ending an attempt again changes nothing.
 * Errors: NOT_FOUND; CONFLICT the job is held, or moved. */
MUST_CHECK Error *departures_abort(
    Connection *catalog, TenantId tenant, JobId id, int64_t attempt, const char *why);
/* Called when the target owns the job. Deletes the job's data here; the tombstone stays. Calling it
 * again changes nothing. Errors: NOT_FOUND; CONFLICT the job has not moved. */
MUST_CHECK Error *departures_end(Connection *catalog, TenantId tenant, JobId id, int64_t attempt);

/* Called when another node took the job over because a person declared this node dead. The present
 * epoch gets a departure to that node, and the caller moves the job to the state `moved`.
 * node: the other node's name in this home.
 * Errors: NOT_FOUND; CONFLICT the job has ended; REFUSED the job was never offered to that node. */
MUST_CHECK Error *departures_fence(
    Connection *catalog, TenantId tenant, JobId id, const char *node, uint64_t target);

/* Lists all departures that are not settled. */
MUST_CHECK Error *departures_list(Store *store, DepartureList **out_list);
/* Finds the departure of the job's present epoch, unless that departure was given up.
 * Errors: NOT_FOUND. */
MUST_CHECK Error *departures_find(
    Store *store, TenantId tenant, JobId id, bool *out_found, Departure *out_departure);
/* Reads which node a moved job went to. Errors: NOT_FOUND; CONFLICT the job has not moved. */
MUST_CHECK Error *departures_find_target(
    Store *store, TenantId tenant, JobId id, uint64_t *out_target);
/* The outcome of an attempt. The target may ask for it at any later time. */
typedef enum DepartureOutcome {
    DEPARTURE_PENDING, /* the attempt is still under way */
    DEPARTURE_MOVED,
    DEPARTURE_ABORTED, /* the attempt was aborted, or never existed */
} DepartureOutcome;
/* Reads the outcome of an attempt for the node that asks. A node that is not the attempt's target
 * gets DEPARTURE_ABORTED. */
MUST_CHECK Error *departures_find_outcome(Store *store, JobId id, uint64_t target, int64_t epoch,
    int64_t attempt, DepartureOutcome *out_outcome);

/* Adjusts the job's departure to the job's new state. The caller writes the job back. */
MUST_CHECK Error *departures_follow(Connection *catalog, Job *inout_job, JobState before);
