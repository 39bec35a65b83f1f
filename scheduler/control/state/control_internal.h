#pragma once
/* The control thread as its files see it. Everything belongs to that thread unless it says so. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "scheduler/control/control.h"
#include "scheduler/control/adapters/control_executor.h"
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/parts/control_outputs.h"
#include "scheduler/control/control_ports.h"
#include "scheduler/control/adapters/control_store.h"
#include "scheduler/control/state/device_table.h"
#include "scheduler/control/state/job_table.h"
#include "scheduler/control/machines/control_life.h"
#include "scheduler/node/execution_limits.h"
#include "scheduler/node/message_queue.h"
#include "scheduler/policy/id_map.h"
#include "scheduler/policy/policy.h"
#include "scheduler/node/recent_time.h"
#include "scheduler/node/run_times.h"

struct Control {
    ControlOptions options;
    ControlPorts ports;
    /* A daemon's, made and released by control.c; NULL where somebody else has made the ports. */
    struct ControlLoop *loop;
    ControlExecutor *executor;
    ControlStore *store;
    Policy *policy;
    DeviceTable devices;
    JobTable jobs;
    RecentTime recent; /* of all tenants; guarded by status_mutex */
    RunTimes *run_times;
    uint64_t timer_ns;       /* the policy's; 0: none */
    uint64_t retry_ns;       /* when stalled commits are tried again; 0: none stalled */
    uint64_t retry_after_ns; /* how long the last one that stalled waits */
    PolicyEvent *events;     /* not applied yet */
    size_t event_count, event_capacity;
    bool slice_end_asked;           /* its answer comes within a kernel's time */
    ControlLife life;               /* written by control_step_life and control_fail alone */
    atomic_bool refuses_jobs;       /* also other threads' */
    struct ControlRequest *drainer; /* who waits for the end of draining */
    uint64_t grace_end_ns;
    uint64_t late_ns; /* when requests may have waited too long; 0: none waits */
    char *left;       /* behind the draining: jobs that have not stopped; NULL: none */
    size_t in_flight; /* tasks and commits that have not come back */
    pthread_mutex_t status_mutex;
    Error *fatal; /* guarded by status_mutex */
};

typedef enum ControlRequestKind {
    CONTROL_SUBMIT,
    CONTROL_SUSPEND,
    CONTROL_RESUME,
    CONTROL_CANCEL,
    CONTROL_CHECKPOINT,
    CONTROL_FREEZE,
    CONTROL_RELEASE,
    CONTROL_THAW,
    CONTROL_MIGRATION_STOP,
    CONTROL_MIGRATION_COMMIT,
    CONTROL_MIGRATION_REVERT,
    CONTROL_ARRIVAL_OWN,
    CONTROL_ARRIVAL_ABORT,
    CONTROL_LOAD,
    CONTROL_QUOTAS,
    CONTROL_PLACE, /* in the queue, for one more job */
    CONTROL_EXPLAIN,
    CONTROL_DRAIN,
} ControlRequestKind;

enum { CONTROL_WAITERS_MAX = 64 }; /* for the same of one job */

/* A request whose sender waits. */
typedef struct ControlRequest {
    Message message;
    ControlRequestKind kind;
    TenantId tenant;
    JobId job;
    bool created; /* of a submission: false when its key stood for the job */
    const char *device;
    Submission *submission;
    bool suspended; /* of TAKE_BACK and OWN: it does not run */
    int64_t epoch;
    const char *why;
    uint64_t grace_ns;
    uint64_t asked_ns; /* when it began to wait for a job */
    char *text;        /* of EXPLAIN: JOB_WHY_SIZE bytes of the sender's */
    Error *error;
    sem_t done;
    void (*answered)(struct ControlRequest *request); /* NULL: its sender waits for done */
    struct ControlRequest *next;                      /* of a job's waiters */
} ControlRequest;

/* Posts a request and waits for its answer. Threads: any but the control thread. */
MUST_CHECK Error *control_send(Control *control, ControlRequest *request);

/* ---- control.c ---- */
/* The ports' clock: monotonic, and seconds since 1970. Threads: any. */
uint64_t control_now_ns(const Control *control);
double control_calendar_s(const Control *control);
/* Gives the control thread a message. Threads: any. */
void control_post(Control *control, Message *message);
/* Told to the policy behind what was posted before. */
void control_post_event(Control *control, PolicyEvent event);
/* Applies what was posted, and what comes of it. */
void control_apply_events(Control *control);
void control_update_status(ControlJob *job);
/* What it waits for: the words and the error's message behind them. NULL: nothing. */
void control_set_waiting(ControlJob *job, const char *words, const Error *error);

/* ---- control_failure.c: the end that nobody asked for ---- */
/* Gives up: nothing is decided any more, everything that waits or comes is answered with the error.
 * On the control thread. */
void control_fail(Control *control, Error *owned_error);
/* Called from then on, whenever messages were handled: nothing is decided any more, and whoever
 * waits is told of the failure. */
void control_answer_failed(Control *control);
/* Errors: the failure, if there was one: then nobody would answer. Threads: any. */
MUST_CHECK Error *control_post_request(Control *control, ControlRequest *request);

/* ---- control_steps.c ---- */
/* Takes a step of one of the job's machines. A step that the machine's table does not have is a
 * bug: the control fails, with the machine, the event and the state in its error. */
void control_step_site(ControlJob *job, JobSiteEvent event);
void control_step_storing(ControlJob *job, JobStoringEvent event);
void control_step_goal(ControlJob *job, JobGoalEvent event);
void control_step_durable(ControlJob *job, JobDurableEvent event);
/* The run that stored something of the job was an earlier process's or another node's. */
void control_step_durable_taken(ControlJob *job, bool has_checkpoint);

void control_step_life(Control *control, ControlLifeEvent event);
/* Takes the status mutex. */
void control_step_presence(Control *control, ControlDevice *device, DevicePresenceEvent event);

/* ---- control_jobs.c: jobs in memory ---- */
MUST_CHECK Error *control_job_create(Control *control, ControlJob **out_job);
/* Puts it under its id, where others find it. */
MUST_CHECK Error *control_job_name(ControlJob *job, JobId id);
ControlJob *control_job_find(Control *control, TenantId tenant, JobId id);
/* What the policy calls a model: the same for all tenants that have it, unless they are isolated.
 */
uint64_t control_model_number(const Control *control, TenantId tenant, const Digest *identity);
/* The model of a job, one more user of it. */
MUST_CHECK Error *control_job_set_model(
    ControlJob *job, const Digest *identity, uint64_t constant_bytes, bool device_strings);
/* Its inputs are stored and it waits: they stay in memory if they are small and few do. */
void control_job_keep_inputs(ControlJob *job);
/* It begins, or needs them no more: they count no longer. */
void control_job_count_out(ControlJob *job);
/* What a checkpoint is to be written from: the job as it is now, in the place of an older one.
 * Not while it runs. Errors: CONFLICT for a job that is to end; DEVICE_LOST: then there is none. */
MUST_CHECK Error *control_job_take_snapshot(ControlJob *job);
void control_job_drop_snapshot(ControlJob *job);
/* What an executor needs to know of the job for a task. */
ExecutorTask control_job_task(ControlJob *job, ExecutorTaskKind kind, uint32_t device);
/* Gives the executor a task, which comes back by its `done`. */
void control_post_task(Control *control, ExecutorTask owned_task);
/* Asks something of the job's slice; from_ns of PAUSE, else 0. Only while the job has a slice. */
void control_request_slice(ControlJob *job, ExecutorRequest what, uint64_t from_ns);
/* The kernel that the job's slice computes. */
LongKernel control_job_get_kernel(const ControlJob *job);
/* Lets execution, inputs and model go. Not while it runs. */
void control_job_close(ControlJob *job);
/* With everything of it; nothing refers to it any more. */
void control_job_free(ControlJob *job);
/* Frees it when nothing needs it any more. */
void control_job_settle(ControlJob *job);
MUST_CHECK Error *control_fail_refused(const PolicyAction *refusal);
MUST_CHECK Error *control_check_place(Control *control, TenantId tenant);
/* Tells the policy of the job, and how long it will take if it has a deadline and that is known. */
void control_job_submit(ControlJob *job, PolicyPlace place, uint64_t device, uint64_t live_bytes);
/* Tells the policy of a tenant and its quotas, where they are new or changed. */
MUST_CHECK Error *control_tell_tenant(Control *control, TenantId tenant);
/* Of a tenant that the policy was told of. */
ExecutionLimits control_find_limits(const Control *control, TenantId tenant);
/* POLICY_NO_DEVICE for NULL and "". Errors: NOT_FOUND. */
MUST_CHECK Error *control_find_device(
    const Control *control, const char *name, uint64_t *out_device);
/* More than a job may have. */
bool control_job_has_many_outputs(const ControlJob *job);

/* ---- control_devices.c: devices that come, go and come back ---- */
/* Opens one and tells the policy. Before the thread runs. */
MUST_CHECK Error *control_add_device(Control *control, const char *spec);
/* Something on it failed with DEVICE_LOST: from here on nothing is begun there, and what fails
 * there is not told to the policy, until it is told once of the loss. */
void control_lose_device(Control *control, uint32_t index);
/* Finishes losses and opens devices anew, as far as it is time. After the events. */
void control_settle_devices(Control *control, uint64_t now_ns);
/* When it is to be called again at the latest; 0: it need not. */
uint64_t control_devices_due_ns(const Control *control);
/* Under status_mutex: the name of the lost device that a job waits for that demands this one;
 * NULL: there is one that could run it. */
const char *control_awaited_device(const Control *control, uint64_t demanded);
void control_evict_weights(Control *control, uint64_t model, uint32_t device);
/* What has no slice now has nothing to switch from. */
void control_note_idle_devices(Control *control);

/* ---- control_slices.c: what the policy wants done with executions and weights ---- */
void control_run_job(ControlJob *job, uint32_t device, uint64_t budget_ns);
void control_preempt_job(ControlJob *job);
void control_move_out(ControlJob *job, uint64_t device, PolicyPlace place);
void control_move_in(ControlJob *job, uint32_t device, PolicyPlace place);
void control_load_weights(Control *control, uint64_t model, uint32_t device);
void control_end_due_slices(Control *control, uint64_t now_ns);
/* The row of a job from a file is stored, or is not to be: what waited for it goes on. */
void control_open_stored(ControlJob *job, bool stored);
/* ---- control_slice_end.c ---- */
void control_handle_slice_ended(void *context, Message *message);
/* The policy is told to suspend it, as `run --suspend-after` asked for. */
void control_suspend_due(ControlJob *job);
/* When control_suspend_due is to be called; 0: need not. */
uint64_t control_suspend_due_ns(const ControlJob *job);
void control_fail_job(ControlJob *job, Error *owned_error);
/* A slice is over for the policy. */
void control_end_slice(ControlJob *job, PolicyOutcome outcome, uint64_t device_ns, uint64_t bytes);

/* ---- control_commits.c ---- */
/* Stores what there is to store, unless a commit is under way; that one's end comes back here. */
void control_commit(ControlJob *job);
/* A move to disk that finds no room ends where it is. */
void control_give_up_move(ControlJob *job);
/* Of a job that has ended: nothing is stored of it any more, so its move to disk has failed. */
void control_leave_policy(ControlJob *job);
/* The state a job shall be in, and why (may be NULL). */
void control_want_state(ControlJob *job, JobState state, const char *why);
void control_retry_commits(Control *control, uint64_t now_ns);

/* ---- control_requests.c ---- */
void control_handle_request(void *context, Message *message);
void control_answer(ControlRequest *request, Error *owned_error);
/* Answers all that wait for this job, each with its own copy of the reason. */
void control_answer_waiters(ControlJob *job, const Error *error);
/* Its state is stored: those who wait for it have it, the others are told of it. */
void control_answer_state(ControlJob *job);
/* The daemon stops: whoever waits for what the job has not come to is told so. */
void control_answer_drained(ControlJob *job);
/* It waits for the job's next state or checkpoint. Errors: CONFLICT enough others do. */
MUST_CHECK Error *control_wait_for(ControlJob *job, ControlRequest *request);
/* What is not in memory is suspended, has ended or is none of this tenant's: CONFLICT or NOT_FOUND.
 */
MUST_CHECK Error *control_fail_absent(
    Control *control, const ControlRequest *request, const char *what);
/* A checkpoint is stored. */
void control_answer_checkpoint(ControlJob *job);
/* There is no room to store what they wait for; it is done when there is. Those who cancel the job
 * wait on: that is tried without what had no room. */
void control_answer_stalled(ControlJob *job, const Error *error);
/* That the job is queued again is stored. */
void control_resumed(ControlJob *job);

/* ---- control_releasing.c: jobs that go into a file ---- */
MUST_CHECK Error *control_handle_release(Control *control, ControlRequest *request);

/* ---- control_arrival.c ---- */
/* The job goes on with what was opened for it. NULL: nothing was. */
void control_job_take_arrival(ControlJob *job, ControlArrival *owned_arrival);
/* The policy chose a device for the job. Returns true where the run that arrived is on that device;
 * one that is on another device is closed. */
bool control_job_close_arrival(ControlJob *job, uint32_t device);
/* The policy moves it to a device: true if it was opened there, and is there now. Else nothing of
 * it is open any more. */
bool control_job_move_arrival(ControlJob *job, uint32_t device);

/* ---- control_migration.c: jobs that go to another node, or come from one ---- */
/* The policy has suspended it: it is suspended, or held to go to another node. */
void control_rest(ControlJob *job);
/* The policy has forgotten it: it is released, moved or cancelled. */
void control_leave(ControlJob *job);
MUST_CHECK Error *control_handle_migration(Control *control, ControlRequest *request);
/* The state that a waiting request of these waits for. */
JobState control_migration_state(const ControlRequest *request);

/* ---- control_recovery.c: start and end ---- */
/* Takes up the jobs that the store holds. Before the thread runs. */
MUST_CHECK Error *control_recover(Control *control);
/* Takes up one that came since. */
MUST_CHECK Error *control_load_row(Control *control, TenantId tenant, JobId id);
/* The job that a request means. One that was held since it could not go on is tried again.
 * Errors: what control_fail_absent says; why it still cannot. */
MUST_CHECK Error *control_find_held(
    Control *control, const ControlRequest *request, const char *what, ControlJob **out_job);
/* Of a job that is not in memory: it is cancelled in the store if it is held. */
MUST_CHECK Error *control_cancel_absent(Control *control, ControlRequest *request);
void control_begin_drain(Control *control, ControlRequest *request);
/* Ends it when everything is stored, or the time is over. */
void control_go_on_draining(Control *control);
