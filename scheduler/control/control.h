#pragma once
/* The control thread: tells the policy what happened and does what the policy decides. Services,
 * HTTP handlers and migrations call it on their own threads.
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
#include "scheduler/node/execution_limits.h"
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
    NativeTenants native;                     /* whose native code may run */
    bool isolate;                             /* resident_models.h */
    const char *devices[CONTROL_DEVICES_MAX]; /* SPECs, "cpu", "sim:0,memory=1GiB"; borrowed */
    uint32_t device_count;                    /* 0: cpu alone */
    uint32_t io_threads;                      /* 0: 2 */
    uint64_t quantum_ns;                      /* 0: the policy's */
    /* Called when something of a job was stored, and when the job begins or ceases to run. On the
     * control thread; must not wait, nor call this module. NULL: nobody listens. */
    void (*changed)(void *listener, JobId job);
    void *listener;
    /* Called with what an operator should know: a device is lost or is back; a model's prepared
     * weights cannot be kept. On the control thread or an I/O thread; must not wait. NULL: nobody.
     */
    void (*warn)(void *context, const char *text);
    /* The pause before a lost device is opened again; 0: a second. A device that is lost
     * CONTROL_LOSSES_MAX times within the window stays away until the window is over; 0: a minute.
     */
    uint64_t reopen_pause_ns, loss_window_ns;
    Metrics *metrics;        /* NULL: nobody counts */
    EventRecorder *recorder; /* NULL: the events are not recorded */
    /* For tests: every job is checked behind each turn, as job_check.h says, and the control thread
     * gives up at a combination of states that must not occur. */
    bool checks_jobs;
} ControlOptions;

/* Opens the devices, takes up the jobs that the store holds, and starts the thread.
 * Errors: USAGE, UNSUPPORTED a device; what the store returns. */
MUST_CHECK Error *control_create(const ControlOptions *options, Control **out_control);
/* The options that were given to control_create. Threads: any. */
const ControlOptions *control_options(const Control *control);
/* Stops all jobs at their next safepoint and stores a checkpoint of each, never-checkpointed ones
 * first, as long as the time lasts. Requests are refused from here on.
 *
 * out_left: unfinished jobs, which the next start takes up. */
MUST_CHECK Error *control_drain(Control *control, uint64_t grace_ns, size_t *out_left);
/* A line for each job that had not stopped when control_drain returned; "": every job had. Borrowed
 * until the release. */
const char *control_get_left(const Control *control);
void control_release(Control *control);
DEFINE_OWN(Control, control_release);
/* The failure that made the control thread give up, if there was one. Threads: any. */
MUST_CHECK Error *control_check(Control *control);

/* Submits a job, which is durable on return. out_created: false: out_id is an older job with the
 * same key.
 *
 * inout_submission: complete, its inputs staged. The job takes policy, batch and arrival from it;
 *                   members that no job took stay the submission's.
 * Errors: EXHAUSTED a quota or more than any device has, with the figures; UNSUPPORTED the
 * device that it demands, or every device here, cannot run its model; as jobs_submit.
 * Threads: any, as the next ones. Blocks: until the commit. */
MUST_CHECK Error *control_submit(
    Control *control, Submission *inout_submission, JobId *out_id, bool *out_created);

/* The end of a transient job. */
typedef struct ControlEnd {
    ArrayList *outputs; /* the arrays of the job's last output, which may be taken; empty when the
                         * job failed */
    Error *owned_error; /* NULL: the job succeeded */
    uint64_t queue_ns;  /* from the submission to the first slice */
    uint64_t device_ns; /* of its slices */
} ControlEnd;
/* Gets the end of a transient job. */
typedef struct ControlReceiver {
    /* Called once, on the control thread, so it must not wait. The receiver may be freed in it. */
    void (*receive)(struct ControlReceiver *self, ControlEnd *end);
} ControlReceiver;
/* The id of a new transient job, which no stored job has. Threads: any. */
JobId control_next_transient(Control *control);
/* Submits a transient job: a job that the policy schedules like any other, but that has no row in
 * the store. Its end goes to the receiver, also where the job is refused; nothing of it outlives
 * the process, and a device that is lost or a daemon that stops ends it. Returns at once.
 *
 * id:         from control_next_transient; control_ask can cancel the job by it.
 * submission: complete, with its batch; the caller keeps it until the receiver is called.
 * helps:      the caller calls control_help right behind this, which spares a wake.
 * Errors:     OUT_OF_MEMORY, UNREACHABLE; the receiver is not called then. Threads: any. */
MUST_CHECK Error *control_submit_transient(
    Control *control, JobId id, Submission *submission, ControlReceiver *receiver, bool helps);

/* Handles on the caller's thread what was posted to the control thread, unless another thread does,
 * and with lends a slice that begins by that, of a job whose submission is brief. A caller that
 * would only wait for the end of its job spares the threads being woken.
 *
 * Threads: any without a lock. Blocks: as long as messages come, and with lends for the slice,
 * whose kernels are abandoned after a millisecond. */
void control_help(Control *control, bool lends);

/* Suspends a job. Returns when the checkpoint is durable. Errors: NOT_FOUND; CONFLICT the job's
 * state allows no suspend. */
MUST_CHECK Error *control_suspend(Control *control, TenantId tenant, JobId job);
/* Queues a suspended job again. device: NULL for any that can run the job. Errors: as
 * control_suspend; UNSUPPORTED the device cannot run the job. */
MUST_CHECK Error *control_resume(Control *control, TenantId tenant, JobId job, const char *device);
/* Cancels a job; that is durable on return. Errors: as control_suspend. */
MUST_CHECK Error *control_cancel(Control *control, TenantId tenant, JobId job);
/* Stores a checkpoint of a job that runs, at the job's next safepoint. Errors: NOT_FOUND; CONFLICT
 * the job has not begun, or has ended. */
MUST_CHECK Error *control_checkpoint(Control *control, TenantId tenant, JobId job);

/* Asks for a suspend, a cancel or a checkpoint without waiting. `answer` is called once on the
 * control thread, so it must not wait, with the error that the waiting function would return. It is
 * not called if control_ask returns an error. Threads: any. */
typedef enum ControlQuestion {
    CONTROL_ASK_SUSPEND,
    CONTROL_ASK_CANCEL,
    CONTROL_ASK_CHECKPOINT,
} ControlQuestion;
typedef void ControlAnswer(void *context, Error *owned_error);
MUST_CHECK Error *control_ask(Control *control, ControlQuestion what, TenantId tenant, JobId job,
    ControlAnswer *answer, void *context);

/* Freezes a suspended job before it is released into a file: nobody can resume or cancel the job
 * until control_release_to_file or control_thaw. Errors: NOT_FOUND; CONFLICT the job is not
 * suspended, or is frozen already. */
MUST_CHECK Error *control_freeze(Control *control, TenantId tenant, JobId job);
/* Releases a frozen job whose file is durable. The release is durable on return. Errors: CONFLICT
 * the job is not frozen. */
MUST_CHECK Error *control_release_to_file(Control *control, TenantId tenant, JobId job);
/* Ends a freeze without a file. Errors: CONFLICT the job is not frozen. */
MUST_CHECK Error *control_thaw(Control *control, TenantId tenant, JobId job);

/* Stops a job that goes to another node: at its next safepoint the job is `held`, with a
 * checkpoint. Nobody can resume or cancel it until control_migration_commit or
 * control_migration_revert. Durable on return, as the next three. why: the reason of the new state.
 * Errors: NOT_FOUND; CONFLICT the job's state; EXHAUSTED there is no room for the checkpoint. */
MUST_CHECK Error *control_migration_stop(
    Control *control, TenantId tenant, JobId job, const char *why);
/* Gives a job to the other node: the job is `moved`. A job that runs, since another node has taken
 * it over, stops, and nothing more of it is stored. */
MUST_CHECK Error *control_migration_commit(
    Control *control, TenantId tenant, JobId job, const char *why);
/* Keeps a held job, which is suspended or queued again. */
MUST_CHECK Error *control_migration_revert(
    Control *control, TenantId tenant, JobId job, bool suspended, const char *why);
/* Makes a job in doubt this node's, suspended or queued. epoch: 0, or the job's new epoch. */
MUST_CHECK Error *control_arrival_own(
    Control *control, TenantId tenant, JobId job, bool suspended, int64_t epoch, const char *why);
/* Drops a job in doubt, which is another node's: the job leaves memory. The caller removes its
 * row. */
MUST_CHECK Error *control_arrival_abort(Control *control, TenantId tenant, JobId job);

/* Opens a run, in host memory and with its model's weights, for a job that is still to come from
 * another node. Nothing of the job is stored yet. Threads: any, one at a time for an arrival. */
MUST_CHECK Error *control_arrival_open(Control *control, TenantId tenant, const Digest *identity,
    const JobPolicy *policy, uint32_t function, Batch *owned_batch, ControlArrival **out_arrival);
/* Decodes the tensors of an earlier execution of the job. Few of them differ from the tensors that
 * control_arrival_restore gets. */
MUST_CHECK Error *control_arrival_warm(ControlArrival *arrival, const Container *execution);
/* Restores the run from a point (job_point.h), and checks the point by that. Called once.
 * Errors: CORRUPT, INVALID; EXHAUSTED a limit. */
MUST_CHECK Error *control_arrival_restore(
    ControlArrival *arrival, const void *point, size_t size, ChunkSource source);
void control_arrival_close(ControlArrival *arrival);
DEFINE_OWN(ControlArrival, control_arrival_close);

/* Called when a model was stored, which may soon be run: an I/O thread packs its weights for the
 * cpu and keeps them, if the cpu runs jobs here. Returns at once. Threads: any. */
void control_expect_model(Control *control, TenantId tenant, const Digest *identity);

/* Refuses new jobs, or accepts them again. Jobs that are here go on. Threads: any, as the next
 * one. */
void control_refuse_jobs(Control *control, bool refuse);
bool control_refuses_jobs(const Control *control);

/* Takes up a job whose row another module stored: a fork. Errors: NOT_FOUND. */
MUST_CHECK Error *control_load(Control *control, TenantId tenant, JobId job);

/* Called when a tenant's weight or quotas have changed: the new ones hold for its waiting jobs,
 * too. */
MUST_CHECK Error *control_tell_quotas(Control *control, TenantId tenant);

/* The facts of a job that the store does not have. */
typedef struct ControlStatus {
    bool running; /* also between two slices */
    bool halted;  /* does not run, since its data has no room; why says so */
    char device[JOB_DEVICE_SIZE];
    int64_t items_done;
    double device_seconds;
    char why[JOB_WHY_SIZE];  /* what the job waits for; "": nothing */
    JobRunCounters counters; /* of a single run, at its last safepoint */
    double promised_end;     /* seconds since 1970, of a job with a deadline; 0: not known */
} ControlStatus;
/* Explains why a queued job does not run: which jobs have its devices, or which memory, weights or
 * quota are missing. Names of other tenants are not told. "": nothing is known to be in the way.
 * Errors: UNREACHABLE the control thread ends. Blocks: for a turn of the control thread. */
MUST_CHECK Error *control_explain(
    Control *control, TenantId tenant, JobId job, char out_why[JOB_WHY_SIZE]);
/* The counters of one of the last CONTROL_ENDED_MAX jobs that have ended since the start. */
bool control_find_ended(Control *control, JobId job, JobRunCounters *out_counters);
/* False: the job is not in memory, and the store has all its facts. */
bool control_find_status(Control *control, JobId job, ControlStatus *out_status);

/* Counts of a tenant's unfinished jobs, and the device-time that the tenant used since the control
 * thread began. */
typedef struct ControlTenantStatus {
    size_t waiting, running, suspended, held;
    size_t ending; /* jobs that ran and whose end is being stored */
    double device_seconds, device_seconds_last_hour;
    double share; /* of the device-time of the last ten seconds, 0 … 1 */
} ControlTenantStatus;
void control_get_tenant(Control *control, TenantId tenant, ControlTenantStatus *out_status);
/* Checks whether one more job of the tenant may be queued, before work is done for the job. The
 * policy decides again when the job comes. Errors: EXHAUSTED the quota queued_jobs, with its
 * figures. */
MUST_CHECK Error *control_check_queue(Control *control, const Tenant *tenant);
/* Counts the jobs of all tenants that run, are between two slices, or whose end is being stored. */
size_t control_running_count(Control *control);

typedef struct ControlDeviceStatus {
    const char *name, *kind, *determinism_class; /* borrowed */
    DeviceMemory memory;                         /* free bytes are 0 while the device is lost */
    bool lost;                                   /* it is opened again later */
    double busy_seconds;
    uint64_t speed; /* relative to the other devices; 0: the node has one device */
    JobId job;      /* that has the device; number 0: none */
    TenantId tenant;
} ControlDeviceStatus;
/* The determinism class of the device of that name; NULL: there is none. Lives as long as the
 * control. Threads: any. */
const char *control_find_class(const Control *control, const char *device);
uint32_t control_device_count(const Control *control);
/* Errors: those of the device's memory function, except DEVICE_LOST. */
MUST_CHECK Error *control_get_device(
    Control *control, uint32_t index, ControlDeviceStatus *out_status);
