#pragma once
/* A job's row in the catalog. Included by the parts of a job (its events, outputs, checkpoints and
 * moves between nodes) and by jobs.h. Threads: functions with a Connection run in catalog work
 * (catalog.h). */
#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "store/database/job_id.h"
#include "store/database/store.h"
#include "store/jobs/job_state.h"
#include "store/models/models.h"

enum { JOB_DEVICE_SIZE = 65, JOB_NODE_NAME_SIZE = 65 }; /* with the terminating NUL */

typedef enum JobRelease {
    JOB_RELEASE_LOG = 1, /* an output is visible once it is stored */
    /* an output is visible once a checkpoint behind it is stored, or the job has ended */
    JOB_RELEASE_CHECKPOINT = 2,
} JobRelease;

typedef enum JobOriginKind {
    JOB_ORIGIN_SUBMITTED = 0,
    JOB_ORIGIN_FORK = 1,
    JOB_ORIGIN_COPY = 2,    /* restored from a file; the job of the file may continue elsewhere */
    JOB_ORIGIN_RELEASE = 3, /* restored from a file that owned its job */
} JobOriginKind;

typedef struct JobOrigin {
    JobOriginKind kind;
    JobId job; /* unset for SUBMITTED, like the next field */
    int64_t epoch;
} JobOrigin;

/* A job's row. */
typedef struct Job {
    int64_t row; /* the order in which jobs were stored; a list continues behind this number */
    TenantId tenant;
    JobId id;
    JobState state;
    int priority; /* the scheduler's number of its class, 0 … 255 */
    JobRelease release;
    int64_t items_total; /* -1: a single run */
    int64_t items_done;
    int64_t output_count;    /* outputs that are stored */
    int64_t outputs_visible; /* how many of the first outputs are visible */
    int64_t checkpoint_last; /* the highest number ever given to a checkpoint; 0: none */
    int64_t event_count;
    uint64_t bytes_stored; /* of its inputs, outputs and checkpoints */
    double submitted;      /* seconds since 1970, like the next four; NaN: not yet, or none */
    double started, finished, deadline;
    double checkpoint_created; /* when the newest checkpoint was made */
    double device_seconds;
    int64_t epoch;
    int64_t attempt;   /* the number of the last attempt to migrate the job */
    Digest executable; /* the executable's identity */
    JobOrigin origin;
    char model[MODEL_REFERENCE_SIZE];
    char device[JOB_DEVICE_SIZE]; /* the device that ran the job last; "": none */
    bool damaged; /* only in lists: the job's row cannot be read, and only its name is known */
    char migrating[JOB_NODE_NAME_SIZE]; /* the node that the job migrates or moved to; "": none. */
} Job;

/* Errors: NOT_FOUND. */
MUST_CHECK Error *job_row_read(Connection *catalog, TenantId tenant, JobId id, Job *out_job);
