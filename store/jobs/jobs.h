#pragma once
/* Jobs: the submission, the progress and the result of each job. Callers: the control thread and
 * its commits (scheduler/control), scheduler/jobs, scheduler/migration and scheduler/service.
 *
 * Every function names the tenant. A job of another tenant is NOT_FOUND, with the message for a job
 * that does not exist. Functions that take a Connection run in catalog work (catalog.h), in the
 * writer's thread: several of them in one piece of work become durable together or not at all.
 * Functions that take a Store may be called in any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "store/contents/job_content.h"
#include "store/jobs/job_events.h"
#include "store/jobs/job_row.h"
#include "store/database/store.h"

enum {
    JOB_KEY_SIZE = 129, /* with the terminating NUL */
    JOB_POLICY_SIZE_MAX = 64 << 10,
    JOBS_LISTED_MAX = 10000, /* upper bound on the jobs of one call */
};

struct Arrival;
struct JobCopy;

typedef struct JobList {
    Job *items; /* in the order of row */
    size_t count;
} JobList;

void job_list_release(JobList *list);
DEFINE_OWN(JobList, job_list_release);

/* A job to be stored. The caller keeps ownership of everything. */
typedef struct JobSubmission {
    const char *model; /* the model's reference, for people */
    Digest executable; /* the identity of one of the tenant's executables */
    const char *key;   /* NULL: none. 1 … JOB_KEY_SIZE - 1 bytes */
    Digest request;    /* the digest of the whole request that came with the key */
    JobState state;    /* NONE stands for queued; otherwise any unfinished state */
    const char *why;   /* the reason in the first event; may be NULL */
    int priority;
    JobRelease release;
    int64_t items_total; /* -1: a single run */
    double submitted;    /* 0: the time of storing */
    double deadline;     /* NaN: none */
    const void *policy;  /* up to JOB_POLICY_SIZE_MAX */
    size_t policy_size;
    const JobContent *inputs; /* staged */
    JobOrigin origin;
    int64_t epoch;
} JobSubmission;

/* Stores a job under a new id. When the tenant has used the key before, the call returns the first
 * job's id and stores nothing.
 *
 * out_created: false when the key was used before; may be NULL.
 * Errors: NOT_FOUND the tenant has no such executable; CONFLICT the key stands for another request;
 *         EXHAUSTED the quota store_bytes; INVALID a field beyond its limits. */
MUST_CHECK Error *jobs_submit(Connection *catalog, TenantId tenant, const JobSubmission *submission,
    JobId *out_id, bool *out_created);

/* A job from a job file or from another node, to be stored. The caller keeps ownership of
 * everything. */
typedef struct JobRestore {
    /* The job, without a key. inputs: only the unused ones. epoch: of the new row. */
    JobSubmission job;
    /* number 0: the job gets a new id. Otherwise the file owned the job, which keeps this id. */
    JobId id;
    /* Another node confirms that the job is the tenant's. Without a confirmation the file's claim
     * counts only for a job of the tenant that went from this home. */
    bool vouched;
    int64_t items_done;
    const JobContent *outputs; /* staged; sequence numbers 0, 1, …; all are visible */
    size_t output_count;
    const JobContent *checkpoint;  /* staged; NULL: the job had not begun */
    int64_t checkpoint_outputs;    /* the number of outputs before the checkpoint */
    const struct Arrival *arrival; /* set for a job in doubt from another node; NULL: from a file */
} JobRestore;

/* Stores a job with the contents that the file or the other node has. The job gets its own id when
 * that id is a tombstone of the tenant with a lower epoch, which becomes the job again, or when the
 * id is unknown here and the job is vouched for. A job of another home that is not vouched for gets
 * a new id. Jobs of other tenants influence neither the id nor an error.
 *
 * Errors: as jobs_submit; CONFLICT the job is already here, maybe under a new id, or never went. */
MUST_CHECK Error *jobs_restore(
    Connection *catalog, TenantId tenant, const JobRestore *restore, JobId *out_id);

/* Reads a row (job_row_read). Errors: NOT_FOUND. */
MUST_CHECK Error *jobs_get(Store *store, TenantId tenant, JobId id, Job *out_job);
/* Reads a job's policy and replaces the content of inout_policy. Errors: NOT_FOUND. */
MUST_CHECK Error *jobs_get_policy(
    Store *store, TenantId tenant, JobId id, ByteWriter *inout_policy);
/* Finds the tenant that owns a job. Only for callers that may see all tenants. Errors: NOT_FOUND.
 */
MUST_CHECK Error *jobs_find_tenant(Store *store, JobId id, TenantId *out_tenant);

enum { JOBS_OF_ALL_TENANTS = 0 };

/* Lists jobs in the order of their rows.
 *
 * tenant:    or JOBS_OF_ALL_TENANTS, for callers that may see all tenants.
 * state:     NONE for any. An index finds one tenant's unfinished jobs without reading other
 *            tenants'.
 * after:     0, or the row of the last job of the previous page.
 * count_max: up to JOBS_LISTED_MAX; a shorter list is the last page. A job whose row is damaged is
 *            listed as a held one (jobs_damaged.h). */
MUST_CHECK Error *jobs_list(Store *store, TenantId tenant, JobState state, int64_t after,
    size_t count_max, JobList **out_list);

/* Counts the jobs of all tenants by state; the index is the state's number. */
MUST_CHECK Error *jobs_count(Store *store, size_t out_counts[JOB_STATE_COUNT]);

/* Changes a job's state and adds an event with the reason (why may be NULL). All outputs of a
 * finished job become visible.
 * Errors: NOT_FOUND; CONFLICT the present state, which the message names, does not allow the
 *         change. */
MUST_CHECK Error *jobs_transition(
    Connection *catalog, TenantId tenant, JobId id, JobState state, const char *why);

/* The progress of a job. */
typedef struct JobProgress {
    int64_t items_done;    /* -1: unchanged; the number never goes down */
    double device_seconds; /* in total; NaN: unchanged, like the next field */
    double started;
    const char *device; /* NULL: unchanged */
} JobProgress;

/* Stores a job's progress. Errors: NOT_FOUND; CONFLICT the job has ended; INVALID items_done is
 * beyond the job's items. */
MUST_CHECK Error *jobs_set_progress(
    Connection *catalog, TenantId tenant, JobId id, const JobProgress *progress);

/* An event that reports a fact and does not change the job. */
typedef struct JobTelling {
    JobEventKind kind;
    char *why; /* may be NULL */
    struct JobTelling *next;
} JobTelling;

/* All changes of a job since the last commit, read and written at once. They act like
 * job_outputs_add, jobs_set_progress, job_checkpoints_add and jobs_transition one after the other.
 */
typedef struct JobChanges {
    const JobContent *outputs; /* staged */
    size_t output_count;
    int64_t first_output;
    JobProgress progress;
    /* staged; NULL: no checkpoint, and the next three fields are ignored */
    const JobContent *checkpoint;
    int64_t checkpoint_items, checkpoint_outputs, checkpoints_kept;
    const JobTelling *tellings; /* in their order, before the state's event; NULL: none */
    JobState state;             /* NONE: unchanged */
    const char *why;            /* the reason in the state's event; may be NULL */
    int64_t epoch;              /* the job's epoch as the writer knows it */
    int64_t new_epoch;          /* 0: the epoch stays */
} JobChanges;

/* Applies the changes. Errors: those of the functions above; CONFLICT the job is in another epoch,
 * since another node owned it. */
MUST_CHECK Error *jobs_apply(
    Connection *catalog, TenantId tenant, JobId id, const JobChanges *changes);

/* Sets the job's total device time, also after the job has ended. The total never goes down.
 * Errors: NOT_FOUND. */
MUST_CHECK Error *jobs_set_device_seconds(
    Connection *catalog, TenantId tenant, JobId id, double device_seconds);

/* Adds an event and changes no other row. Errors: NOT_FOUND. */
MUST_CHECK Error *jobs_add_note(Connection *catalog, TenantId tenant, JobId id, const char *why);

/* Deletes a finished job. The job disappears at once; later steps delete its large contents
 * (removals.h). Errors: NOT_FOUND; CONFLICT the job has not ended, or is a tombstone. */
MUST_CHECK Error *jobs_remove(Connection *catalog, TenantId tenant, JobId id);
/* Deletes a tombstone's inputs, outputs and checkpoints; the tombstone stays.
 * Errors: NOT_FOUND; CONFLICT the job is no tombstone. */
MUST_CHECK Error *jobs_drop_contents(Connection *catalog, TenantId tenant, JobId id);
/* Deletes a tenant's finished jobs whose retention has passed. Retention counts the time that the
 * home was alive (alive_time.h). A job never goes early, and may stay up to two turns of
 * housekeeping longer; with a retention of 0 a job goes at the next turn.
 *
 * alive_s:   the home's time.
 * count_max: upper bound on the deleted jobs; call again when out_count reaches it. */
MUST_CHECK Error *jobs_expire(
    Connection *catalog, TenantId tenant, double alive_s, size_t count_max, size_t *out_count);

/* Makes a checkpoint the newest one, under a new number; the job continues from it. Checkpoints
 * behind it stay until there are more than `keep`.
 *
 * keep:   as in job_checkpoints_add.
 * Errors: NOT_FOUND no such job or checkpoint; CONFLICT the job is not suspended. */
MUST_CHECK Error *jobs_go_back(
    Connection *catalog, TenantId tenant, JobId id, int64_t checkpoint, int64_t keep);

/* Makes a second job from a checkpoint: with the same inputs, the outputs before the checkpoint,
 * and the checkpoint under the same number. One call is one step; the caller repeats it, each time
 * as a piece of catalog work of its own, until inout_copy is done (job_copy.h).
 *
 * checkpoint: its number; 0: the newest.
 * Errors:     NOT_FOUND no such job or checkpoint; CONFLICT the job is a tombstone; EXHAUSTED the
 *             quota store_bytes. */
MUST_CHECK Error *jobs_fork(
    Connection *catalog, TenantId tenant, JobId id, int64_t checkpoint, struct JobCopy *inout_copy);
