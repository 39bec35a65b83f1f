#pragma once
/* The server's table of functions about jobs, so that routes can be tested without a daemon. Called
 * by the routes, on handler threads; implemented by scheduler/service/ and by a second
 * implementation in tests.
 *
 * Every function may be called from several handler threads at once and may block until its result
 * is durable. Job ids are text. A job of another tenant is NOT_FOUND with the text for a job that
 * does not exist: the caller's tenant decides, its role only where a function says so. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "scheduler/http/server/http_request.h"
#include "scheduler/http/server/http_response.h"
#include "scheduler/node/settings_cache.h"
#include "scheduler/node/submission.h"
#include "serialize/arrays/array_list.h"
#include "vm/code/executable.h"
#include "vm/execution/execution_options.h"

enum {
    JOBS_API_ID_SIZE = 64, /* with the terminating NUL, as are the others */
    JOBS_API_TEXT_SIZE = 65,
    JOBS_API_MODEL_SIZE = 130,
    JOBS_API_WHY_SIZE = 512,
};

/* A job as it is shown. Numbers of -1, times that are NaN and empty texts are shown as null. */
typedef struct JobsApiJob {
    int64_t place; /* the job's place in the list of jobs: the next page begins after it */
    char job[JOBS_API_ID_SIZE];
    char was[JOBS_API_ID_SIZE]; /* for a job restored under a new id: the id that its file owned */
    char model[JOBS_API_MODEL_SIZE];
    char tenant[JOBS_API_TEXT_SIZE];
    char state[JOBS_API_TEXT_SIZE]; /* "running" and the other states */
    char device[JOBS_API_TEXT_SIZE];
    char migrating[JOBS_API_TEXT_SIZE];
    char moved_state[JOBS_API_TEXT_SIZE]; /* a moved job's state at its present node; "": not
                                           * known */
    char why[JOBS_API_WHY_SIZE];          /* the reason of the newest change; the error of a
                                           * failed job */
    PolicyClass priority;
    bool ended;                                     /* the job has no further events here */
    int64_t items_done, items_total;                /* items_total -1: a single run */
    int64_t outputs;                                /* visible ones */
    int64_t last_event;                             /* the newest event's sequence number */
    int64_t instructions, kernel_calls, peak_bytes; /* -1: not known */
    ExecutionTraffic traffic;                       /* means nothing without instructions */
    double submitted, started, finished;            /* seconds since 1970 */
    double deadline;     /* the same; NaN: none, and promised_end and missed mean
                          * nothing */
    double promised_end; /* the earliest end that could be promised; 0: not known */
    bool missed;         /* the job did not end before the deadline */
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
    int64_t sequence;   /* outputs with smaller sequence numbers came before the checkpoint */
} JobsApiCheckpoint;

/* Called for each entry of a list; an error of the visitor ends the list and is returned. */
typedef Error *JobsApiJobVisitor(void *context, const JobsApiJob *job);
typedef Error *JobsApiEventVisitor(void *context, const JobsApiEvent *event);
typedef Error *JobsApiCheckpointVisitor(void *context, const JobsApiCheckpoint *checkpoint);

typedef struct JobsApiDevice {
    char device[JOBS_API_TEXT_SIZE]; /* "sim:0" */
    char name[JOBS_API_TEXT_SIZE];
    const char *determinism_class;
    uint64_t memory_bytes, free_bytes;
    char job[JOBS_API_ID_SIZE];      /* the running job; "": none, or one of another tenant than the
                                      * caller's */
    char tenant[JOBS_API_TEXT_SIZE]; /* the running job's; "": as for the job */
    uint64_t speed;                  /* measured, relative to the other devices; 0: not measured */
    double busy_seconds;             /* since the daemon's start */
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

/* The use of those quotas that the store does not count. */
typedef struct JobsApiUse {
    int64_t running_jobs;
    double device_seconds_per_hour; /* in the last hour */
} JobsApiUse;

typedef enum JobsApiChange {
    JOBS_API_SUSPEND, /* returns when the checkpoint is durable */
    JOBS_API_RESUME,
    JOBS_API_CANCEL,
    JOBS_API_FORK, /* answers with the new job */
    JOBS_API_REMOVE,
} JobsApiChange;

typedef struct JobsApiChangeOptions {
    const char *device; /* of RESUME; NULL: any */
    int64_t checkpoint; /* of RESUME and FORK: its id; 0: the newest */
    bool asked;         /* for FORK: a new checkpoint was asked for already */
} JobsApiChangeOptions;

typedef struct JobsApiCheckpointOptions {
    int64_t checkpoint; /* 0: the newest, or a new one of a running job */
    bool with_model;
    bool release;   /* the file owns the job afterwards */
    bool asked;     /* a new checkpoint, or a suspension, was asked for already */
    bool suspended; /* by that question: the job continues if no file is made */
} JobsApiCheckpointOptions;

typedef struct JobsApiRestoreOptions {
    bool with_outputs;
    const char *device; /* NULL: any */
    int64_t threads;    /* as in a submission, also the members below */
    int64_t suspend_after;
    int64_t suspend_after_ms;
    bool check_finite;
} JobsApiRestoreOptions;

/* A job that is run again from a checkpoint, to compare its outputs with the stored ones. */
typedef struct JobsApiVerification {
    char job[JOBS_API_ID_SIZE];    /* "": the job was removed meanwhile */
    char replay[JOBS_API_ID_SIZE]; /* the job that repeats the run */
    const char *state;             /* running, equal, differs, failed */
    char replay_state[JOBS_API_TEXT_SIZE];
    char why[JOBS_API_WHY_SIZE]; /* of a failed one; or why a replay waits */
    int64_t checkpoint;
    int64_t outputs;  /* to be compared */
    int64_t compared; /* outputs compared so far */
    int64_t sequence; /* the first output that differs; -1: none */
    /* Classes of the devices that the two jobs last ran on; NULL: none yet, or not known here. */
    const char *determinism_class, *replay_class;
} JobsApiVerification;

typedef struct JobsApiOutputs {
    int64_t next; /* ?since= for the outputs after these */
    int64_t count;
} JobsApiOutputs;

/* Requests that a job can only meet at its next safepoint, which one long kernel may delay. */
typedef enum JobsApiQuestion {
    JOBS_API_ASK_SUSPEND, /* ends when the checkpoint is durable */
    JOBS_API_ASK_CANCEL,
    JOBS_API_ASK_CHECKPOINT, /* a new checkpoint of a running job; ends at once for any other */
    JOBS_API_ASK_RELEASE,    /* suspends a job that is queued or runs; ends at once for any other */
} JobsApiQuestion;

/* A question under way. Threads: begin and end are called by its owner. */
typedef struct JobsApiWait {
    /* Called once. Calls the waker once, when the question has ended; maybe before begin
     * returns. */
    void (*begin)(void *self, HttpWaker waker);
    /* Returns the question's result after the wake, and frees the question. out_suspended: a
     * release suspended the job. Errors: as change. */
    Error *(*end)(void *self, bool *out_suspended);
    /* Called instead of begin and end, to drop a question that never began. */
    void (*drop)(void *self);
    void *self;
} JobsApiWait;

/* A model as requests to run it need it. */
typedef SettingsModel JobsApiModel;

/* The times of a transient run. */
typedef struct JobsApiRunTimes {
    uint64_t queue_ns, device_ns;
    uint64_t items;      /* of the request; 1 where items are not counted */
    uint64_t batch_size; /* items of the run that it had a part in */
    bool leads;          /* of all requests of one run, one leads */
} JobsApiRunTimes;

/* A transient run under way. Threads: begin and end are called by its owner. */
typedef struct JobsApiRun {
    /* Called once. Calls the waker once, when the run has ended; maybe before begin returns. */
    void (*begin)(void *self, HttpWaker waker);
    /* Lends the caller's thread to the run behind begin, maybe after the wake, but before end.
     * brief: the thread may compute the function, if that does not take long. Threads: without a
     * lock. */
    void (*help)(void *self, bool brief);
    /* Called once at most, until the wake, when nobody wants the outputs any more: cancels the run.
     * Must not wait. Threads: any. */
    void (*cut)(void *self);
    /* Returns the run's result after the wake, and frees the run. out_outputs: empty before.
     * out_times: set also when the run failed.
     * Errors: EXHAUSTED a quota; CANCELLED; UNREACHABLE; whatever the function fails with. */
    Error *(*end)(void *self, ArrayList *out_outputs, JobsApiRunTimes *out_times);
    /* Called instead of begin and end, to drop a run that never began. */
    void (*drop)(void *self);
    void *self;
} JobsApiRun;

typedef struct JobsApiClass {
    /* Durable on return. out_job: at least its id and state. A key that was used before with the
     * same content answers with that job. Errors: NOT_FOUND the model; INVALID inputs by name;
     * CONFLICT the key stands for another request; EXHAUSTED a quota, named with its figure. */
    Error *(*submit)(
        void *self, const Caller *caller, Submission *inout_submission, JobsApiJob *out_job);
    Error *(*get)(void *self, const Caller *caller, const char *job, JobsApiJob *out_job);
    /* Lists entries in the order of their place (or the key that after names), those after it,
     * count_max at most.
     *
     * state: NULL for any. after: a job's place. Errors: INVALID no such state. */
    Error *(*list)(void *self, const Caller *caller, const char *state, int64_t after,
        size_t count_max, JobsApiJobVisitor *visit, void *context);
    /* after: a sequence number. */
    Error *(*events)(void *self, const Caller *caller, const char *job, int64_t after,
        size_t count_max, JobsApiEventVisitor *visit, void *context);
    /* Visible outputs with a sequence number of at least since, as many as one answer takes, as an
     * .npz file: out_stream. Outputs of a moved job are passed on from its present node while they
     * come. Errors: UNREACHABLE; EXHAUSTED too many are passed on already. */
    Error *(*outputs)(void *self, const Caller *caller, const char *job, int64_t since,
        HttpStream *out_stream, JobsApiOutputs *out);
    /* out_stream: JSON lines, {"seq", "time", "state", "why"} for a change, with "kind" for any
     * other event that has a reason, {"seq", "items_done", "items_total", "device_seconds",
     * "checkpoint_age"} for progress, {"seq", "outputs"} with the present number when outputs or
     * yielded values became visible. The stream ends after the line that says that the job has
     * ended. since: the seq of the last line seen before. */
    Error *(*watch)(
        void *self, const Caller *caller, const char *job, int64_t since, HttpStream *out_stream);
    /* Errors: CONFLICT the job's state does not allow the change; the state is named. */
    Error *(*change)(void *self, const Caller *caller, const char *job, JobsApiChange change,
        const JobsApiChangeOptions *options, JobsApiJob *out_job);
    /* Asks for a change that needs a safepoint; no thread waits for it. Errors: NOT_FOUND;
     * OUT_OF_MEMORY. */
    Error *(*ask)(void *self, const Caller *caller, const char *job, JobsApiQuestion what,
        JobsApiWait *out_wait);
    /* Begins a verification. checkpoint: 0 for the newest. Errors: NOT_FOUND no such job, no such
     * checkpoint; CONFLICT no output after it is stored; EXHAUSTED a quota. */
    Error *(*verify)(void *self, const Caller *caller, const char *job, int64_t checkpoint,
        JobsApiVerification *out_verification);
    /* The state of a verification. If the state is not "running", this call has ended it: the job
     * has an event with the result, and the replay is removed. Errors: NOT_FOUND no such job, or it
     * is no replay. */
    Error *(*verification)(void *self, const Caller *caller, const char *replay,
        JobsApiVerification *out_verification);
    /* after: a checkpoint's id. */
    Error *(*checkpoints)(void *self, const Caller *caller, const char *job, int64_t after,
        size_t count_max, JobsApiCheckpointVisitor *visit, void *context);
    /* A checkpoint file: out_stream. If the file has to be written first, out_stream->pull is NULL
     * and the file is at path, which names an empty file or is NULL. With release the job is
     * released once the file is complete; as long as its data is here, the file can be had again.
     * Errors: IO the file has to be written, and path is NULL. */
    Error *(*checkpoint)(void *self, const Caller *caller, const char *job,
        const JobsApiCheckpointOptions *options, const char *path, HttpStream *out_stream);
    /* Errors: NOT_FOUND the tenant lacks the model; CORRUPT; CONFLICT the file has given its job
     * already. */
    Error *(*restore)(void *self, const Caller *caller, const char *path,
        const JobsApiRestoreOptions *options, JobsApiJob *out_job);
    /* Finds the model that a reference names. Errors: NOT_FOUND, INVALID. */
    Error *(*find_model)(
        void *self, const Caller *caller, const char *reference, JobsApiModel *out_model);
    /* Makes a run of a function whose outputs go to the request that asks for it: a transient job,
     * which the policy schedules like any other job and the store never sees.
     *
     * inout_submission: model, priority, deadline and policy; what a run takes of it is moved out.
     * inout_inputs:     moved into the run.
     * Errors: INVALID an input, by its name; EXHAUSTED a quota, named with its figure. */
    Error *(*run)(void *self, const Caller *caller, const JobsApiModel *model,
        Submission *inout_submission, ArrayList *inout_inputs, JobsApiRun *out_run);
    /* All devices; the tenant of a running job and admins see which job runs. */
    Error *(*devices)(void *self, const Caller *caller, JobsApiDeviceVisitor *visit, void *context);
    /* An admin sees all tenants, a user its own. after: a tenant's name. */
    Error *(*tenants)(void *self, const Caller *caller, const char *after, size_t count_max,
        JobsApiTenantVisitor *visit, void *context);
    void (*use)(void *self, TenantId tenant, JobsApiUse *out_use);
    /* Called when a tenant's weight or quotas changed; applies to waiting jobs, too. */
    void (*tenant_changed)(void *self, TenantId tenant);
    /* Called when a model was stored and may soon be run. identity: of its executable. Returns at
     * once. */
    void (*model_stored)(void *self, TenantId tenant, const Digest *identity);
} JobsApiClass;

typedef struct JobsApi {
    const JobsApiClass *class_;
    void *self;
} JobsApi;

/* Adds the fields of a deadline: deadline, missed, feasible, earliest_end. */
void jobs_api_deadline_json(const JobsApiJob *job, struct json_object *inout_object);
/* The job as JSON, the same for command line and HTTP. Errors: OUT_OF_MEMORY. */
/* Adds the member "traffic"; NULL: not known. The command line prints its runs with it, too. */
MUST_CHECK Error *jobs_api_traffic_json(
    const ExecutionTraffic *traffic, struct json_object *inout_object);
MUST_CHECK Error *jobs_api_job_json(const JobsApiJob *job, struct json_object **out);
MUST_CHECK Error *jobs_api_verification_json(
    const JobsApiVerification *verification, struct json_object **out);
MUST_CHECK Error *jobs_api_event_json(const JobsApiEvent *event, struct json_object **out);
/* The fields of a device that are known without a daemon, too; for HTTP and the command line. */
MUST_CHECK Error *jobs_api_device_json(const JobsApiDevice *device, struct json_object **out);
