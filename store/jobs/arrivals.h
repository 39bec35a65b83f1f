#pragma once
/* Jobs that arrive from another node, until it is known which node owns them. scheduler/migration
 * reads and writes these rows; scheduler/jobs fills an Arrival when it imports a job.
 *
 *      offer (no row in jobs) -> prepared (the job is in_doubt) -> the job is queued or suspended
 *        |                         |
 *        +-- expire, abort         +-- abort: the job goes, or is its tombstone again
 *
 * When a job leaves the state `in_doubt`, the same transaction ends its arrival (jobs_transition).
 * Threads: functions with a Connection run in catalog work (catalog.h), the others in any thread.
 */
#include "store/jobs/job_row.h"

typedef enum ArrivalProgress { /* stored */
    ARRIVAL_IS_OFFERED = 0,
    ARRIVAL_IS_PREPARED = 1, /* the job has a row, in the state in_doubt */
    /* this node owns the job without the source's confirmation; the source must still be told */
    ARRIVAL_IS_ADOPTED = 2,
} ArrivalProgress;

typedef struct Arrival {
    JobId job;
    TenantId tenant;
    uint64_t source; /* a node's number */
    int64_t epoch;   /* the job's epoch at the source; this node stores the job with the next one */
    int64_t attempt; /* the number of the attempt, given by the source */
    ArrivalProgress progress;
    bool suspended; /* the job becomes suspended, not queued, when this node owns it */
    /* When the source last mentioned the job, in the home's time (alive_time.h). Callers only read
     * the
     * field: the store stamps arrivals when they are offered or prepared. */
    double touched;
} Arrival;

typedef struct ArrivalList {
    Arrival *items;
    size_t count;
    size_t damaged; /* rows that cannot be read (damaged_migrations.h), not among the items */
} ArrivalList;

void arrival_list_release(ArrivalList *list);
DEFINE_OWN(ArrivalList, arrival_list_release);

/* Stores an offer durably, so that later offers of an older attempt are refused. Repeating an offer
 * changes nothing; a newer attempt replaces an older one. The argument's `progress` is ignored.
 * Errors: CONFLICT a newer attempt is known, this attempt is prepared, the job is here, or its
 *         tombstone is not older than the offer. */
MUST_CHECK Error *arrivals_offer(Connection *catalog, const Arrival *arrival);
/* Ends an attempt and deletes its rows. Rows of another attempt stay.
 * out_removed: true when a job in doubt was deleted. */
MUST_CHECK Error *arrivals_abort(Connection *catalog, JobId id, uint64_t source, int64_t epoch,
    int64_t attempt, bool *out_removed);
/* Called before this node takes a job in doubt without the source's confirmation. The arrival stays
 * until arrivals_forget, which the caller calls when the source was told.
 * Errors: CONFLICT the arrival is not prepared. */
MUST_CHECK Error *arrivals_adopt(Connection *catalog, JobId id);
MUST_CHECK Error *arrivals_forget(Connection *catalog, JobId id);
/* Deletes unprepared offers whose source was silent for silence_s in the home's time
 * (alive_time.h). An offer may stay up to a minute longer. */
MUST_CHECK Error *arrivals_expire(Connection *catalog, double silence_s);
/* Reads how long the source has been silent about the job, in the home's time, in steps of a
 * minute. */
MUST_CHECK Error *arrivals_read_silence(
    Store *store, const Arrival *arrival, double *out_silence_s);

MUST_CHECK Error *arrivals_find(Store *store, JobId id, bool *out_found, Arrival *out_arrival);
MUST_CHECK Error *arrivals_list(Store *store, ArrivalList **out_list);

/* Adjusts the job's arrival to the job's new state. */
MUST_CHECK Error *arrivals_follow(Connection *catalog, const Job *job, JobState before);
/* Called in the transaction that stores the arrived job. tombstone: the row that the job replaces;
 * NULL: none. Errors: CONFLICT this node took no such offer. */
MUST_CHECK Error *arrivals_note_prepared(
    Connection *catalog, const Arrival *arrival, const Job *tombstone);
