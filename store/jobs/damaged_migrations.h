#pragma once
/* Rows of departures, arrivals and verifications that cannot be read, after a bit on the disk has
 * changed. A job whose migration is not known any more is held, and somebody decides: `resume` runs
 * it here, if it does not run on the other node; `cancel` ends it. The job's way out of `held`
 * deletes the row (departures_follow). */
#include "store/jobs/jobs.h"

/* Jobs whose unsettled departure, or whose arrival, cannot be read become held, with an event that
 * says why. Called before anything runs. */
MUST_CHECK Error *damaged_migrations_hold(Connection *catalog);

typedef enum DamagedKind {
    DAMAGED_DEPARTURE,
    DAMAGED_ARRIVAL,
    DAMAGED_VERIFICATION,
    DAMAGED_KIND_COUNT,
} DamagedKind;

typedef struct DamagedRow {
    DamagedKind kind;
    int64_t job;    /* its row in jobs; 0: the job is not here */
    JobState state; /* of that job, JOB_STATE_NONE where that cannot be read */
    JobId id;       /* of an arrival */
} DamagedRow;

enum { DAMAGED_ROWS_MAX = 256 }; /* found at once */

/* Those of a kind, in the order of their jobs' rows. after: 0, or the last one's job; arrivals are
 * listed DAMAGED_ROWS_MAX at most. */
MUST_CHECK Error *damaged_migrations_list(Connection *catalog, DamagedKind kind, int64_t after,
    DamagedRow out_rows[DAMAGED_ROWS_MAX], size_t *out_count);
/* Makes the row again from what the job and the nodes say, or deletes it where nothing depends on
 * it. out_repaired: false where a person has to decide, and nothing has changed. */
MUST_CHECK Error *damaged_migrations_repair(
    Connection *catalog, const DamagedRow *row, bool *out_repaired);
