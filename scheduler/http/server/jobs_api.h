#pragma once
/* What the server asks of whoever runs jobs: the daemon, or a small stand-in in tests.
 *
 * Every function may be called from several handler threads at once and may block until what it
 * promises is durable. Job ids are text. A job of another tenant is NOT_FOUND with the words for a
 * job that does not exist: the caller's tenant decides, its role only where a function says so. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "scheduler/http/server/http_request.h"
#include "scheduler/http/server/http_response.h"

enum {
    JOBS_API_ID_SIZE = 64, /* with the terminating NUL, as are the others */
    JOBS_API_TEXT_SIZE = 65,
    JOBS_API_MODEL_SIZE = 130,
    JOBS_API_WHY_SIZE = 512,
    JOBS_API_KEY_MAX = 128,   /* bytes */
    JOBS_API_SHARED_MAX = 64, /* inputs */
    JOBS_API_WEIGHT_MAX = 1000000,
};

typedef enum JobsApiPriority {
    JOBS_API_PRIORITY_HIGH,
    JOBS_API_PRIORITY_NORMAL,
    JOBS_API_PRIORITY_LOW,
} JobsApiPriority;

typedef enum JobsApiRelease { JOBS_API_RELEASE_LOG, JOBS_API_RELEASE_CHECKPOINT } JobsApiRelease;

/* A job to be submitted. Everything is borrowed for the call. */
typedef struct JobsApiSubmission {
    const char *model;                       /* NAME, NAME@3, NAME@alias */
    const char *function;                    /* NULL: main */
    const char *device;                      /* NULL: any */
    const char *key;                         /* NULL: none */
    const char *shared[JOBS_API_SHARED_MAX]; /* inputs that go whole to each run of a batch job */
    size_t shared_count;
    bool items;    /* a batch job: the leading axis of the other inputs is the item axis */
    int64_t batch; /* items of a run */
    JobsApiPriority priority;
    JobsApiRelease release;
    int64_t weight;
    int64_t checkpoint_keep;   /* how many stay */
    double deadline_s;         /* from now; 0: none */
    double checkpoint_every_s; /* 0: the daemon's default */
    /* Of `run` and `resume FILE` through a daemon. */
    int64_t threads;          /* 0: the device's */
    int64_t suspend_after;    /* instructions from here; 0: never */
    int64_t suspend_after_ms; /* -1: never */
    bool check_finite;
    const uint8_t *inputs; /* an .npz file with arrays named like the inputs */
    size_t inputs_size;    /* 0: none */
} JobsApiSubmission;

/* A job as it is shown. Numbers of -1, times that are NaN and empty texts are shown as null. */
typedef struct JobsApiJob {
    int64_t place; /* in the list of jobs: the next page is what comes after it */
    char job[JOBS_API_ID_SIZE];
    char was[JOBS_API_ID_SIZE]; /* of one restored under a new id: the one that its file owned */
    char model[JOBS_API_MODEL_SIZE];
    char tenant[JOBS_API_TEXT_SIZE];
    char state[JOBS_API_TEXT_SIZE]; /* "running" among them */
    char device[JOBS_API_TEXT_SIZE];
    char migrating[JOBS_API_TEXT_SIZE];
    char moved_state[JOBS_API_TEXT_SIZE]; /* of a moved job, where it is now; "": not known */
    char why[JOBS_API_WHY_SIZE];          /* of the newest change; the error of a failed one */
    JobsApiPriority priority;
    bool ended;                      /* nothing more will come of it here */
    int64_t items_done, items_total; /* total -1: a single run */
    int64_t outputs;                 /* visible ones */
    int64_t last_event;              /* the newest one's sequence number */
    int64_t instructions, kernel_calls, peak_bytes;
    double submitted, started, finished; /* seconds since 1970 */
    double deadline;                     /* the same; NaN: none, and the next two mean nothing */
    double promised_end;                 /* the earliest end that could be promised; 0: not known */
    bool missed;                         /* it did not end before the deadline */
    double device_seconds, checkpoint_age_s;
} JobsApiJob;

typedef struct JobsApiEvent {
    int64_t sequence;
    double time; /* seconds since 1970 */
    char state[JOBS_API_TEXT_SIZE];
    char kind[JOBS_API_TEXT_SIZE];
    char why[JOBS_API_WHY_SIZE];
} JobsApiEvent;

typedef struct JobsApiCheckpoint {
    int64_t id;
    double time; /* seconds since 1970 */
    uint64_t bytes;
    int64_t items_done; /* -1: of a single run */
    int64_t sequence;   /* outputs below it stand before it */
} JobsApiCheckpoint;

/* Lists are told one by one; an error of the visitor ends the list and is returned. */
typedef Error *JobsApiJobVisitor(void *context, const JobsApiJob *job);
typedef Error *JobsApiEventVisitor(void *context, const JobsApiEvent *event);
typedef Error *JobsApiCheckpointVisitor(void *context, const JobsApiCheckpoint *checkpoint);

typedef struct JobsApiDevice {
    char device[JOBS_API_TEXT_SIZE]; /* "sim:0" */
    char name[JOBS_API_TEXT_SIZE];
    const char *determinism_class;
    uint64_t memory_bytes, free_bytes;
    char job[JOBS_API_ID_SIZE]; /* that runs on it; "" none, or of another tenant than asked for */
    uint64_t speed;             /* measured, beside the others; 0: not */
    double busy_seconds;        /* since the daemon's start */
} JobsApiDevice;
typedef Error *JobsApiDeviceVisitor(void *context, const JobsApiDevice *device);

typedef struct JobsApiTenant {
    char tenant[JOBS_API_TEXT_SIZE];
    int64_t weight;
    int64_t queued, running, suspended; /* jobs */
    double device_seconds;              /* since the daemon's start */
    double share;                       /* of the device-time of the last seconds, 0 … 1 */
} JobsApiTenant;
typedef Error *JobsApiTenantVisitor(void *context, const JobsApiTenant *tenant);

/* Of the quotas that the store does not count. */
typedef struct JobsApiUse {
    int64_t running_jobs;
    double device_seconds_per_hour; /* in the last hour */
} JobsApiUse;

typedef enum JobsApiChange {
    JOBS_API_SUSPEND, /* returns when the checkpoint is durable */
    JOBS_API_RESUME,
    JOBS_API_CANCEL,
    JOBS_API_FORK, /* answers the new job */
    JOBS_API_REMOVE,
} JobsApiChange;

typedef struct JobsApiChangeOptions {
    const char *device; /* of RESUME; NULL: any */
    int64_t checkpoint; /* of RESUME and FORK: its id; 0: the newest */
    bool asked;         /* of FORK: for a new checkpoint already */
} JobsApiChangeOptions;

typedef struct JobsApiCheckpointOptions {
    int64_t checkpoint; /* 0: the newest, or a new one of a running job */
    bool with_model;
    bool release;   /* the file owns the job from then on */
    bool asked;     /* for a new one, or to be suspended, already */
    bool suspended; /* by that: it goes on where there is no file in the end */
} JobsApiCheckpointOptions;

typedef struct JobsApiRestoreOptions {
    bool with_outputs;
    const char *device; /* NULL: any */
    int64_t threads;    /* as of a submission, as are the next three */
    int64_t suspend_after;
    int64_t suspend_after_ms;
    bool check_finite;
} JobsApiRestoreOptions;

/* A job that is run again from a checkpoint to compare what comes out with what is stored. */
typedef struct JobsApiVerification {
    char job[JOBS_API_ID_SIZE];    /* "": it was removed meanwhile */
    char replay[JOBS_API_ID_SIZE]; /* the job that runs again */
    const char *state;             /* running, equal, differs, failed */
    char replay_state[JOBS_API_TEXT_SIZE];
    char why[JOBS_API_WHY_SIZE]; /* of FAILED; and what a replay waits for that does not run */
    int64_t checkpoint;
    int64_t outputs;  /* to be compared */
    int64_t compared; /* of them */
    int64_t sequence; /* the first output that differs; -1: none does */
    /* Of the devices that had them last; NULL: none has, or it is not here. */
    const char *determinism_class, *replay_class;
} JobsApiVerification;

typedef struct JobsApiOutputs {
    int64_t next; /* ?since= for what comes after these */
    int64_t count;
} JobsApiOutputs;

/* What a job can only do at its next safepoint, which one long kernel may keep away for long. */
typedef enum JobsApiQuestion {
    JOBS_API_ASK_SUSPEND, /* over when the checkpoint is durable */
    JOBS_API_ASK_CANCEL,
    JOBS_API_ASK_CHECKPOINT, /* a new one, of a job that runs; over at once for any other */
    JOBS_API_ASK_RELEASE,    /* suspends a job that is queued or runs; over at once for any other */
} JobsApiQuestion;

/* A question on its way. Threads: begin and end are its owner's. */
typedef struct JobsApiWait {
    /* Called once. Wakes once, when it is over; maybe before this returns. */
    void (*begin)(void *self, HttpWaker waker);
    /* What came of it, once it woke; it is freed. out_suspended: a release suspended the job.
     * Errors: as change. */
    Error *(*end)(void *self, bool *out_suspended);
    /* Instead, when it never began. */
    void (*drop)(void *self);
    void *self;
} JobsApiWait;

typedef struct JobsApiClass {
    /* Durable on return. out_job: at least its id and state. A key that was used before with the
     * same content answers that job.
     * Errors: NOT_FOUND the model; INVALID inputs by name; CONFLICT the key stands for another
     * request; EXHAUSTED a quota, named with its figure. */
    Error *(*submit)(
        void *self, const Caller *caller, const JobsApiSubmission *submission, JobsApiJob *out_job);
    Error *(*get)(void *self, const Caller *caller, const char *job, JobsApiJob *out_job);
    /* Lists are told in the order of what after stands for, from behind it on, count_max at most.
     *
     * state: NULL for any. after: a job's place. Errors: INVALID no such state. */
    Error *(*list)(void *self, const Caller *caller, const char *state, int64_t after,
        size_t count_max, JobsApiJobVisitor *visit, void *context);
    /* after: a sequence number. */
    Error *(*events)(void *self, const Caller *caller, const char *job, int64_t after,
        size_t count_max, JobsApiEventVisitor *visit, void *context);
    /* Visible outputs with a sequence number of at least since, as many as one answer takes, as an
     * .npz file: out_stream. Those of a moved job are passed on from where it is now while they
     * come. Errors: UNREACHABLE; EXHAUSTED too many are passed on already. */
    Error *(*outputs)(void *self, const Caller *caller, const char *job, int64_t since,
        HttpStream *out_stream, JobsApiOutputs *out);
    /* out_stream: JSON lines, {"seq", "time", "state", "why"} for a change, with "kind" for any
     * other event that has a reason, {"seq", "items_done", "items_total", "device_seconds",
     * "checkpoint_age"} for progress, {"seq", "outputs"} for outputs and yielded values that became
     * visible: how many there are now. It ends behind the line that says that the job has ended.
     * since: the seq of the last line seen before. */
    Error *(*watch)(
        void *self, const Caller *caller, const char *job, int64_t since, HttpStream *out_stream);
    /* Errors: CONFLICT its state does not allow that; the state is named. */
    Error *(*change)(void *self, const Caller *caller, const char *job, JobsApiChange change,
        const JobsApiChangeOptions *options, JobsApiJob *out_job);
    /* A change that needs a safepoint, without a thread that waits for it.
     * Errors: NOT_FOUND; OUT_OF_MEMORY. */
    Error *(*ask)(void *self, const Caller *caller, const char *job, JobsApiQuestion what,
        JobsApiWait *out_wait);
    /* Begins a verification. checkpoint: 0 for the newest.
     * Errors: NOT_FOUND no such job, no such checkpoint; CONFLICT no output behind it is stored;
     * EXHAUSTED a quota. */
    Error *(*verify)(void *self, const Caller *caller, const char *job, int64_t checkpoint,
        JobsApiVerification *out_verification);
    /* How it stands. When it is not running any more this has ended it: the job has an event that
     * says what was found, the replay is gone. Errors: NOT_FOUND no such job, or it is no replay.
     */
    Error *(*verification)(void *self, const Caller *caller, const char *replay,
        JobsApiVerification *out_verification);
    /* after: a checkpoint's id. */
    Error *(*checkpoints)(void *self, const Caller *caller, const char *job, int64_t after,
        size_t count_max, JobsApiCheckpointVisitor *visit, void *context);
    /* A checkpoint file: out_stream. Where it has to be written first, out_stream->pull is NULL and
     * it stands at path, which names an empty file or is NULL. With release the job is released
     * once nothing of the file is missing; as long as its data is here, the file can be had again.
     * Errors: IO it has to be written, and path is NULL. */
    Error *(*checkpoint)(void *self, const Caller *caller, const char *job,
        const JobsApiCheckpointOptions *options, const char *path, HttpStream *out_stream);
    /* Errors: NOT_FOUND the tenant lacks the model; CORRUPT; CONFLICT the file gave its job. */
    Error *(*restore)(void *self, const Caller *caller, const char *path,
        const JobsApiRestoreOptions *options, JobsApiJob *out_job);
    /* All of them; which tenant's job runs is told to that tenant and to admins. */
    Error *(*devices)(void *self, const Caller *caller, JobsApiDeviceVisitor *visit, void *context);
    /* An admin sees all tenants, a user its own. after: a tenant's name. */
    Error *(*tenants)(void *self, const Caller *caller, const char *after, size_t count_max,
        JobsApiTenantVisitor *visit, void *context);
    void (*use)(void *self, TenantId tenant, JobsApiUse *out_use);
    /* A tenant's weight or quotas are others now, also for jobs that wait. */
    void (*tenant_changed)(void *self, TenantId tenant);
    /* A model was stored, and may soon be run. identity: of its executable. Returns at once. */
    void (*model_stored)(void *self, TenantId tenant, const Digest *identity);
} JobsApiClass;

typedef struct JobsApi {
    const JobsApiClass *class_;
    void *self;
} JobsApi;

const char *jobs_api_priority_name(JobsApiPriority priority);
bool jobs_api_find_priority(const char *name, JobsApiPriority *out);
/* What is told of a deadline: deadline, missed, feasible, earliest_end. */
void jobs_api_deadline_json(const JobsApiJob *job, struct json_object *inout_object);
/* The JSON that command line and HTTP show. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *jobs_api_job_json(const JobsApiJob *job, struct json_object **out);
MUST_CHECK Error *jobs_api_verification_json(
    const JobsApiVerification *verification, struct json_object **out);
MUST_CHECK Error *jobs_api_event_json(const JobsApiEvent *event, struct json_object **out);
