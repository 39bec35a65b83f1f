#pragma once
/* The control thread: tells the policy what happened and does what it decides.
 *
 *      requests (HTTP) ----+                       +--> workers (a thread a device): slices
 *      slices that ended --+--> message queue --> policy --> I/O threads: models, inputs, moves
 *      I/O that is done ---+        (events)   (actions)  +--> catalog writer: grouped commits
 *
 * Only this thread touches jobs that are in memory; everybody else sends messages. What must be
 * durable before it is acknowledged is committed before the reply. */
#include "scheduler/node/event_recorder.h"
#include "scheduler/executor/job_run.h"
#include "scheduler/node/job_policy.h"
#include "scheduler/node/metrics.h"
#include "scheduler/node/settings_cache.h"
#include "scheduler/node/submission.h"
#include "serialize/container/container.h"
#include "store/database/catalog.h"
#include "store/jobs/job_events.h"
#include "store/jobs/jobs.h"
#include "vm/residency/weight_image.h"

typedef struct Control Control;
typedef struct ControlArrival ControlArrival;

enum {
    CONTROL_DEVICES_MAX = 64,
    CONTROL_ENDED_MAX = 256,
    CONTROL_LOSSES_MAX = 3, /* of one device, in a minute */
};

typedef struct ControlOptions {
    Store *store; /* borrowed, as are the next three */
    Catalog *catalog;
    SettingsCache *settings;
    WorkerPool *pool;                         /* for decoding and packing; may be NULL */
    const WeightImages *images;               /* NULL: none are kept; borrowed */
    bool isolate;                             /* resident_models.h */
    const char *devices[CONTROL_DEVICES_MAX]; /* SPECs, "cpu", "sim:0,memory=1GiB"; borrowed */
    uint32_t device_count;                    /* 0: cpu alone */
    uint32_t io_threads;                      /* 0: 2 */
    uint64_t quantum_ns;                      /* 0: the policy's */
    /* Something of a job was stored, or it began or ceased to run. Called on the control thread;
     * must not wait, nor call this module. NULL: nobody listens. */
    void (*changed)(void *listener, JobId job);
    void *listener;
    /* Told what an operator should know: a device is lost, or is back; a model's prepared weights
     * cannot be kept. On the control thread or one that does I/O; must not wait. NULL: nobody. */
    void (*warn)(void *context, const char *text);
    /* Before a lost device is opened anew; 0: a second. The minute in which it may be lost
     * CONTROL_LOSSES_MAX times, before it stays away until that is over; 0: a minute. */
    uint64_t reopen_pause_ns, loss_window_ns;
    Metrics *metrics;        /* NULL: nobody counts */
    EventRecorder *recorder; /* NULL: nobody writes down what the policy is told */
    /* For tests: every job is checked behind each turn, as job_check.h says, and the control thread
     * gives up at a combination of states that must not occur. */
    bool checks_jobs;
} ControlOptions;

/* Opens the devices, takes up the jobs that the store holds, and begins.
 * Errors: USAGE, UNSUPPORTED a device; what the store returns. */
MUST_CHECK Error *control_create(const ControlOptions *options, Control **out_control);
/* As given to control_create. Threads: any. */
const ControlOptions *control_options(const Control *control);
/* Stops all jobs at their next safepoint and stores a checkpoint of each, never-checkpointed ones
 * first, as long as the time lasts. Requests are refused from here on.
 *
 * out_left: unfinished jobs, which the next start takes up. */
MUST_CHECK Error *control_drain(Control *control, uint64_t grace_ns, size_t *out_left);
/* Behind control_drain: a sentence for each job that had not stopped, on lines of their own; "":
 * all had. Borrowed, until the release. */
const char *control_get_left(const Control *control);
void control_release(Control *control);
DEFINE_OWN(Control, control_release);
/* The failure that made the control thread give up, if there was one. Threads: any. */
MUST_CHECK Error *control_check(Control *control);

/* Durable on return. out_created: false when the key stands for that job already.
 *
 * inout_submission: complete, its inputs staged. The job takes policy, batch and arrival from it;
 *                   members that no job took stay the submission's.
 * Errors: EXHAUSTED a quota or more than any device has, with the figures; UNSUPPORTED the
 * device that it demands, or every device here, cannot run its model; as jobs_submit.
 * Threads: any, as the next ones. Blocks: until the commit. */
MUST_CHECK Error *control_submit(
    Control *control, Submission *inout_submission, JobId *out_id, bool *out_created);
/* Returns when the checkpoint is durable. Errors: NOT_FOUND; CONFLICT, its state is named. */
MUST_CHECK Error *control_suspend(Control *control, TenantId tenant, JobId job);
/* device: NULL for any that can run it. Errors: UNSUPPORTED it cannot. */
MUST_CHECK Error *control_resume(Control *control, TenantId tenant, JobId job, const char *device);
MUST_CHECK Error *control_cancel(Control *control, TenantId tenant, JobId job);
/* Stores a checkpoint of a job that runs, at its next safepoint. Errors: NOT_FOUND; CONFLICT it has
 * not begun, or has ended. */
MUST_CHECK Error *control_checkpoint(Control *control, TenantId tenant, JobId job);

/* The last three without waiting: `answer` is called with what they would have returned, once and
 * on the control thread, so it must not wait. Not called when this returns an error. Threads: any.
 */
typedef enum ControlQuestion {
    CONTROL_ASK_SUSPEND,
    CONTROL_ASK_CANCEL,
    CONTROL_ASK_CHECKPOINT,
} ControlQuestion;
typedef void ControlAnswer(void *context, Error *owned_error);
MUST_CHECK Error *control_ask(Control *control, ControlQuestion what, TenantId tenant, JobId job,
    ControlAnswer *answer, void *context);

/* Before a job goes into a file that owns it: a suspended job stays as it is, nobody can resume or
 * cancel it, until one of the next two. Errors: NOT_FOUND; CONFLICT its state, or somebody does
 * this already. */
MUST_CHECK Error *control_freeze(Control *control, TenantId tenant, JobId job);
/* The file is durable: the job is released. Durable on return. Errors: CONFLICT it is not held. */
MUST_CHECK Error *control_release_to_file(Control *control, TenantId tenant, JobId job);
/* There is no file. Errors: CONFLICT it is not held. */
MUST_CHECK Error *control_thaw(Control *control, TenantId tenant, JobId job);

/* A job that goes to another node: it stops at its next safepoint and is `held`, with a checkpoint;
 * nobody can resume or cancel it until one of the next two. Durable on return, as all of these.
 * why: of the new state. Errors: NOT_FOUND; CONFLICT its state; EXHAUSTED no room for it. */
MUST_CHECK Error *control_migration_stop(
    Control *control, TenantId tenant, JobId job, const char *why);
/* The other node owns it: it is `moved`. Also of a job that runs, when another node has taken it
 * over: it stops, and nothing more of it is stored. */
MUST_CHECK Error *control_migration_commit(
    Control *control, TenantId tenant, JobId job, const char *why);
/* It stays, and is what it was: suspended, or queued. */
MUST_CHECK Error *control_migration_revert(
    Control *control, TenantId tenant, JobId job, bool suspended, const char *why);
/* A job in doubt is ours. epoch: 0, or a new one to have it in. */
MUST_CHECK Error *control_arrival_own(
    Control *control, TenantId tenant, JobId job, bool suspended, int64_t epoch, const char *why);
/* A job in doubt is not ours: it leaves memory; the caller removes what is stored of it. */
MUST_CHECK Error *control_arrival_abort(Control *control, TenantId tenant, JobId job);

/* A run of a job that is still to come from another node: opened in host memory, with its model's
 * weights, before anything of the job is stored. Threads: any, one at a time for an arrival. */
MUST_CHECK Error *control_arrival_open(Control *control, TenantId tenant, const Digest *identity,
    const JobPolicy *policy, uint32_t function, Batch *owned_batch, ControlArrival **out_arrival);
/* Its tensors as they are in this execution, decoded: what comes later is near to it. */
MUST_CHECK Error *control_arrival_warm(ControlArrival *arrival, const Container *execution);
/* Puts it where it goes on: everything is checked by that. Once. point: job_point.h.
 * Errors: CORRUPT, INVALID; EXHAUSTED a limit. */
MUST_CHECK Error *control_arrival_restore(
    ControlArrival *arrival, const void *point, size_t size, ChunkSource source);
void control_arrival_close(ControlArrival *arrival);
DEFINE_OWN(ControlArrival, control_arrival_close);

/* A model was stored, and may soon be run: its weights are packed for the cpu and kept, on an I/O
 * thread, when the cpu runs jobs here. Returns at once. Threads: any. */
void control_expect_model(Control *control, TenantId tenant, const Digest *identity);

/* From here on new jobs are refused, or taken again; those that are here go on. Threads: any, as
 * the next one. */
void control_refuse_jobs(Control *control, bool refuse);
bool control_refuses_jobs(const Control *control);

/* Takes up a job that was stored by somebody else: a fork. Errors: NOT_FOUND. */
MUST_CHECK Error *control_load(Control *control, TenantId tenant, JobId job);

/* A tenant's weight or quotas have changed: also its jobs that wait go by the new ones. */
MUST_CHECK Error *control_tell_quotas(Control *control, TenantId tenant);

/* What the store does not know of a job. */
typedef struct ControlStatus {
    bool running; /* also while it is sliced out for a moment */
    bool halted;  /* suspended, though that could not be stored yet; why says what for */
    char device[JOB_DEVICE_SIZE];
    int64_t items_done;
    double device_seconds;
    char why[JOB_WHY_SIZE];  /* what it waits for; "" */
    JobRunCounters counters; /* of a single run, when it last stopped */
    double promised_end;     /* seconds since 1970, of a job with a deadline; 0: none is known */
} ControlStatus;
/* What a job waits for that is queued and does not run: which jobs have the devices that it could
 * use, without a word of other tenants' names; or memory, weights, a quota. "": nothing that is
 * known. Errors: UNREACHABLE the control thread ends. Blocks: for one of its turns. */
MUST_CHECK Error *control_explain(
    Control *control, TenantId tenant, JobId job, char out_why[JOB_WHY_SIZE]);
/* The counters of one of the last CONTROL_ENDED_MAX jobs that have ended since the start. */
bool control_find_ended(Control *control, JobId job, JobRunCounters *out_counters);
/* False: the job is not in memory, the store knows everything. */
bool control_find_status(Control *control, JobId job, ControlStatus *out_status);

/* Of a tenant's unfinished jobs, and of what it used since the control thread began. */
typedef struct ControlTenantStatus {
    size_t waiting, running, suspended, held;
    size_t ending; /* they ran; their end is being stored */
    double device_seconds, device_seconds_last_hour;
    double share; /* of the device-time of the last ten seconds, 0 … 1 */
} ControlTenantStatus;
void control_get_tenant(Control *control, TenantId tenant, ControlTenantStatus *out_status);
/* Whether one more of the tenant's jobs may wait for a device: before something is done for it. The
 * policy decides when it comes. Errors: EXHAUSTED the quota queued_jobs, with its figures. */
MUST_CHECK Error *control_check_queue(Control *control, const Tenant *tenant);
/* Jobs of all tenants that run, also while they are sliced out or their end is being stored. */
size_t control_running_count(Control *control);

typedef struct ControlDeviceStatus {
    const char *name, *kind, *determinism_class; /* borrowed */
    DeviceMemory memory;                         /* all of it free: 0 while it is lost */
    bool lost;                                   /* it is opened anew when it is time */
    double busy_seconds;
    uint64_t speed; /* beside the other devices; 0: it is the only one, and not measured */
    JobId job;      /* number 0: none */
    TenantId tenant;
} ControlDeviceStatus;
/* The determinism class of the device of that name; NULL: there is none. Lives as long as the
 * control. Threads: any. */
const char *control_find_class(const Control *control, const char *device);
uint32_t control_device_count(const Control *control);
/* Errors: what the device says when it is asked for its memory, but for its loss. */
MUST_CHECK Error *control_get_device(
    Control *control, uint32_t index, ControlDeviceStatus *out_status);
