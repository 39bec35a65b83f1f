#pragma once
/* Rows of departures, arrivals and verifications that cannot be read because a bit on the disk has
 * changed. A job whose migration is unknown is held until a person decides: `resume` runs the job
 * here, if it does not run on the other node; `cancel` ends it. When the job leaves `held`,
 * departures_follow deletes the damaged row. Callers: scheduler/migration when a daemon starts, and
 * store/upkeep (fsck). Threads: the functions run in catalog work (catalog.h). */
#include "store/jobs/jobs.h"

/* Holds every job whose unsettled departure or whose arrival cannot be read. An event of the job
 * says why. Called before any job runs. */
MUST_CHECK Error *damaged_migrations_hold(Connection *catalog);

typedef enum DamagedKind {
    DAMAGED_DEPARTURE,
    DAMAGED_ARRIVAL,
    DAMAGED_VERIFICATION,
    DAMAGED_KIND_COUNT,
} DamagedKind;

typedef struct DamagedRow {
    DamagedKind kind;
    int64_t job;    /* the job's row in jobs; 0: the job is not here */
    JobState state; /* the job's state; JOB_STATE_NONE when the state cannot be read */
    JobId id;       /* set only for a damaged arrival */
} DamagedRow;

enum { DAMAGED_ROWS_MAX = 256 }; /* upper bound on the rows of one call */

/* Lists the damaged rows of a kind, ordered by their jobs' rows. after: 0, or the job of the last
 * row of the previous page. A call lists at most DAMAGED_ROWS_MAX arrivals. */
MUST_CHECK Error *damaged_migrations_list(Connection *catalog, DamagedKind kind, int64_t after,
    DamagedRow out_rows[DAMAGED_ROWS_MAX], size_t *out_count);
/* Rebuilds the row from the job and the nodes, or deletes the row when nothing depends on it.
 * out_repaired: false when a person must decide; the call has then changed nothing. */
MUST_CHECK Error *damaged_migrations_repair(
    Connection *catalog, const DamagedRow *row, bool *out_repaired);
