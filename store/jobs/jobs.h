#pragma once
/* Jobs: what tenants submitted, how far it is, and what became of it.
 *
 * Every function names the tenant, and a job of another tenant is NOT_FOUND with the words for a
 * job that does not exist. Functions that take a Connection are for catalog work (catalog.h):
 * several of them in one piece of work become durable together or not at all. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "store/contents/job_content.h"
#include "store/jobs/job_events.h"
#include "store/database/job_id.h"
#include "store/jobs/job_state.h"
#include "store/models/models.h"
#include "store/database/store.h"

enum {
    JOB_DEVICE_SIZE = 65, /* with the terminating NUL, as are the next two */
    JOB_NODE_NAME_SIZE = 65,
    JOB_KEY_SIZE = 129,
    JOB_POLICY_SIZE_MAX = 64 << 10,
    JOBS_LISTED_MAX = 10000, /* at once */
};

typedef enum JobRelease {
    JOB_RELEASE_LOG = 1,        /* outputs are visible once they are stored */
    JOB_RELEASE_CHECKPOINT = 2, /* once a checkpoint behind them is, or the job has ended */
} JobRelease;

struct Arrival;
struct JobCopy;

typedef enum JobOriginKind {
    JOB_ORIGIN_SUBMITTED = 0,
    JOB_ORIGIN_FORK = 1,
    JOB_ORIGIN_COPY = 2,    /* restored from a file whose job may run on */
    JOB_ORIGIN_RELEASE = 3, /* from a file that took its job along */
} JobOriginKind;

typedef struct JobOrigin {
    JobOriginKind kind;
    JobId job; /* unless SUBMITTED, as is the next */
    int64_t epoch;
} JobOrigin;

/* A job's row. */
typedef struct Job {
    int64_t row; /* the order in which jobs came here; where a list goes on */
    TenantId tenant;
    JobId id;
    JobState state;
    int priority; /* the scheduler's number of its class, 0 … 255 */
    JobRelease release;
    int64_t items_total; /* -1: a single run */
    int64_t items_done;
    int64_t output_count;    /* stored */
    int64_t outputs_visible; /* of them, the first */
    int64_t checkpoint_last; /* the highest number ever given to a checkpoint; 0: none */
    int64_t event_count;
    uint64_t bytes_stored; /* of its inputs, outputs and checkpoints */
    double submitted;      /* seconds since 1970, as are the next four; NaN: not yet, or none */
    double started, finished, deadline;
    double checkpoint_created; /* of the newest */
    double device_seconds;
    int64_t epoch;
    int64_t attempt;   /* at migrating it */
    Digest executable; /* its identity */
    JobOrigin origin;
    char model[MODEL_REFERENCE_SIZE];
    char device[JOB_DEVICE_SIZE]; /* the last one that it ran on; "": none */
    bool damaged; /* only in lists: its row cannot be read, and no more is known than its name */
    char migrating[JOB_NODE_NAME_SIZE]; /* where to; "": it is not. Of a moved one: where it went */
} Job;

typedef struct JobList {
    Job *items; /* in the order of row */
    size_t count;
} JobList;

void job_list_release(JobList *list);
DEFINE_OWN(JobList, job_list_release);

/* A job to be stored. Everything is borrowed. */
typedef struct JobSubmission {
    const char *model; /* a reference, for people */
    Digest executable; /* its identity: one of the tenant's */
    const char *key;   /* NULL: none. 1 … JOB_KEY_SIZE - 1 bytes */
    Digest request;    /* of everything that was sent under the key */
    JobState state;    /* NONE: queued; else any unfinished one */
    const char *why;   /* of the first event; may be NULL */
    int priority;
    JobRelease release;
    int64_t items_total; /* -1: a single run */
    double submitted;    /* 0: when it is stored */
    double deadline;     /* NaN: none */
    const void *policy;  /* up to JOB_POLICY_SIZE_MAX */
    size_t policy_size;
    const JobContent *inputs; /* staged */
    JobOrigin origin;
    int64_t epoch;
} JobSubmission;

/* Stores a job under a new id. With a key that the tenant has used before, the first job is
 * answered and nothing is stored.
 *
 * out_created: false then; may be NULL.
 * Errors: NOT_FOUND the tenant has no such executable; CONFLICT the key stands for another request;
 *         EXHAUSTED the quota store_bytes; INVALID a field beyond its limits. */
MUST_CHECK Error *jobs_submit(Connection *catalog, TenantId tenant, const JobSubmission *submission,
    JobId *out_id, bool *out_created);

/* A job from a checkpoint file, to be stored. Everything is borrowed. */
typedef struct JobRestore {
    /* Without a key; inputs: those that are not used yet. epoch: of the new row. */
    JobSubmission job;
    JobId id; /* number 0: a new one. Else the file says that it owned this job, which comes back */
    /* Whoever may know says that the job is the tenant's. Else the file's word counts only for a
     * job that went from here, and the tenant's. */
    bool vouched;
    int64_t items_done;
    const JobContent *outputs; /* staged; from sequence number 0 on; they are visible */
    size_t output_count;
    const JobContent *checkpoint;  /* staged; NULL: it had not begun */
    int64_t checkpoint_outputs;    /* how many of the outputs stand before it */
    const struct Arrival *arrival; /* it comes from another node, in doubt; NULL: from a file */
} JobRestore;

/* Stores a job with what it had when the file was written, or when the other node sent it. Under
 * its own id when that is a tombstone of the tenant's, of a lower epoch, which becomes the job
 * again; or when nobody here has it and it is vouched for. A job of another home that nobody
 * vouches for gets a new id. What other tenants have makes no difference to that, nor to a refusal.
 *
 * Errors: as jobs_submit; CONFLICT the job is here already, maybe under a new id, or never went. */
MUST_CHECK Error *jobs_restore(
    Connection *catalog, TenantId tenant, const JobRestore *restore, JobId *out_id);

/* Errors: NOT_FOUND. */
MUST_CHECK Error *jobs_read(Connection *catalog, TenantId tenant, JobId id, Job *out_job);
MUST_CHECK Error *jobs_get(Store *store, TenantId tenant, JobId id, Job *out_job);
/* Replaces the content of inout_policy. Errors: NOT_FOUND. */
MUST_CHECK Error *jobs_get_policy(
    Store *store, TenantId tenant, JobId id, ByteWriter *inout_policy);
/* Whose job it is: only for those who may see all tenants. Errors: NOT_FOUND. */
MUST_CHECK Error *jobs_find_tenant(Store *store, JobId id, TenantId *out_tenant);

enum { JOBS_OF_ALL_TENANTS = 0 };

/* tenant:    or JOBS_OF_ALL_TENANTS, for those who may see them.
 * state:     NONE for any. One tenant's unfinished jobs are found without a look at the others.
 * after:     0, or the row of the last job of the page before.
 * count_max: up to JOBS_LISTED_MAX; fewer were found when there are no more.
 * A job whose row is damaged is among them, as a held one (jobs_damaged.h). */
MUST_CHECK Error *jobs_list(Store *store, TenantId tenant, JobState state, int64_t after,
    size_t count_max, JobList **out_list);

/* How many jobs of all tenants are in each state; by its number. */
MUST_CHECK Error *jobs_count(Store *store, size_t out_counts[JOB_STATE_COUNT]);

/* Brings a job into another state, with the event that says why (may be NULL). A finished job's
 * outputs are all visible.
 * Errors: NOT_FOUND; CONFLICT its state does not allow that (the state is named). */
MUST_CHECK Error *jobs_transition(
    Connection *catalog, TenantId tenant, JobId id, JobState state, const char *why);

/* How far a job is. */
typedef struct JobProgress {
    int64_t items_done;    /* -1: as it was; it never goes back */
    double device_seconds; /* in total; NaN: as it was, as is the next */
    double started;
    const char *device; /* NULL: as it was */
} JobProgress;

/* Errors: NOT_FOUND; CONFLICT it has ended; INVALID more items than it has. */
MUST_CHECK Error *jobs_set_progress(
    Connection *catalog, TenantId tenant, JobId id, const JobProgress *progress);

/* An event that changes nothing else. */
typedef struct JobTelling {
    JobEventKind kind;
    char *why; /* may be NULL */
    struct JobTelling *next;
} JobTelling;

/* Everything that a stretch of running brings, read and written at once: like job_outputs_add,
 * jobs_set_progress, job_checkpoints_add and jobs_transition after one another. */
typedef struct JobChanges {
    const JobContent *outputs; /* staged */
    size_t output_count;
    int64_t first_output;
    JobProgress progress;
    const JobContent *checkpoint; /* staged; NULL: none, and the next three mean nothing */
    int64_t checkpoint_items, checkpoint_outputs, checkpoints_kept;
    const JobTelling *tellings; /* in their order, before that of the state; NULL: none */
    JobState state;             /* NONE: as it is */
    const char *why;            /* of the state; may be NULL */
    int64_t epoch;              /* whoever writes has the job in this one */
    int64_t new_epoch;          /* 0: it stays */
} JobChanges;

/* Errors: of those; CONFLICT the job is in another epoch: another node owned it since. */
MUST_CHECK Error *jobs_apply(
    Connection *catalog, TenantId tenant, JobId id, const JobChanges *changes);

/* The job's device-time in total, also of one that has ended; never less than it was.
 * Errors: NOT_FOUND. */
MUST_CHECK Error *jobs_set_device_seconds(
    Connection *catalog, TenantId tenant, JobId id, double device_seconds);

/* Adds an event that changes nothing else. Errors: NOT_FOUND. */
MUST_CHECK Error *jobs_add_note(Connection *catalog, TenantId tenant, JobId id, const char *why);

/* Deletes a finished job with everything of it: nobody sees it any more, and what is large goes in
 * the steps that follow (removals.h). Errors: NOT_FOUND; CONFLICT it has not ended, or is
 * a tombstone. */
MUST_CHECK Error *jobs_remove(Connection *catalog, TenantId tenant, JobId id);
/* Deletes a tombstone's inputs, outputs and checkpoints; the job itself stays.
 * Errors: NOT_FOUND; CONFLICT it is none. */
MUST_CHECK Error *jobs_drop_contents(Connection *catalog, TenantId tenant, JobId id);
/* Deletes a tenant's finished jobs that have outlived its retention, which counts time that the
 * home was alive (alive_time.h). None goes before its time, and up to two turns may come on top of
 * it; a retention of 0 lets a job go at the next turn.
 *
 * alive_s:   the home's time.
 * count_max: how many at most; call again when out_count reaches it. */
MUST_CHECK Error *jobs_expire(
    Connection *catalog, TenantId tenant, double alive_s, size_t count_max, size_t *out_count);

/* Makes a checkpoint the newest one, under a new number: where the job goes on next. Those behind
 * it stay until they are too many.
 *
 * keep:   as in job_checkpoints_add.
 * Errors: NOT_FOUND no such job or checkpoint; CONFLICT the job is not suspended. */
MUST_CHECK Error *jobs_go_back(
    Connection *catalog, TenantId tenant, JobId id, int64_t checkpoint, int64_t keep);

/* A second job from a checkpoint: the same inputs, the outputs before the checkpoint, and the
 * checkpoint under its number. One step of it: called again, each time as work of its own, until
 * inout_copy is done (job_copy.h).
 *
 * checkpoint: its number; 0: the newest.
 * Errors:     NOT_FOUND no such job or checkpoint; CONFLICT it is a tombstone; EXHAUSTED the quota
 *             store_bytes. */
MUST_CHECK Error *jobs_fork(
    Connection *catalog, TenantId tenant, JobId id, int64_t checkpoint, struct JobCopy *inout_copy);
