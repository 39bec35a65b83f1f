#pragma once
/* What the control thread's logic asks of the world. Each function returns at once, but for the
 * reads of the store. What an order leads to comes back as a message, in any order and after any
 * time, and never during the call. A daemon's ports are in control_loop.c,
 * control_executor.c and control_store.c; a
 * test has ports of its own and drives the logic in one thread. */
#include "base/clock.h"
#include "scheduler/control/parts/control_outputs.h"
#include "scheduler/executor/resident_models.h"
#include "scheduler/executor/worker.h"
#include "scheduler/node/execution_limits.h"
#include "scheduler/node/job_policy.h"
#include "scheduler/node/message_queue.h"
#include "store/accounts/tenants.h"
#include "store/jobs/jobs_damaged.h"

struct Control;
struct ControlRequest;
typedef struct ControlJob ControlJob;

/* ---- messages in ---- */

typedef struct ControlMailbox {
    /* Whoever drives the logic handles the message by message->handle(control, message), on the
     * control thread, and calls control_core_turn behind it. Threads: any. */
    void (*post)(void *self, Message *message);
    void *self;
} ControlMailbox;

/* ---- orders to what runs jobs ---- */

/* What a job's run consists of: made, used and emptied by the executor. Whoever job_site.def names
 * as the owner in the job's state uses it: the control thread, one I/O task, or the worker's
 * thread. */
typedef struct JobHold {
    Batch *batch; /* inputs to begin with; NULL: in the store, or used up by the run */
    JobRun *run;
    const ResidentModel *held;
    Residency *residency;          /* where it is; NULL: in host memory, or there is no run */
    WorkerSlice slice;             /* what came of it is looked at by the logic when it has ended */
    ControlOutputs outputs;        /* of the slice */
    Message slice_ended;           /* its handler, and the next one's, is the logic's */
    Message paused;                /* a kernel of the slice waits */
    atomic_bool pause_told;        /* that message is on its way */
    const ControlMailbox *mailbox; /* the executor's */
} JobHold;

typedef enum ExecutorTaskKind {
    EXECUTOR_OPEN,            /* model, inputs and, where there is one, checkpoint, for a slice */
    EXECUTOR_ENTER_FROM_DISK, /* the same, since the policy moves the job in */
    EXECUTOR_ENTER_FROM_HOST,
    EXECUTOR_LEAVE_TO_HOST,
    EXECUTOR_LOAD_WEIGHTS,
    EXECUTOR_CLOSE_DEVICE, /* whoever reads its memory is waited for */
    EXECUTOR_OPEN_DEVICE,  /* anew, behind that */
} ExecutorTaskKind;

/* Work that waits or takes long. Made by the logic; the executor's from post until done is called.
 */
typedef struct ExecutorTask {
    Message message;                                                  /* the executor's */
    void (*done)(struct Control *control, struct ExecutorTask *task); /* on the control thread */
    ExecutorTaskKind kind;
    JobHold *hold;   /* NULL, as all of a job is, for weights and devices */
    ControlJob *job; /* the executor does not look into it */
    TenantId tenant;
    JobId id;
    const JobPolicy *policy; /* borrowed from the job */
    uint64_t model;          /* the policy's number of it; the logic's */
    Digest identity;         /* of the model */
    uint32_t device;
    ExecutionLimits limits; /* of the job's tenant */
    uint64_t grant_bytes;   /* of the job when the task was made, as are the next three */
    bool fresh, has_checkpoint, suspend_passed;
    uint32_t function; /* of its executable; found by the executor where inputs are read */
    /* Set by the executor. */
    uint64_t device_bytes; /* in all, of a device that was opened */
    Error *error;
} ExecutorTask;

/* What a slice is asked for; as job_run.h says of job_run_request_pause and its like. */
typedef enum ExecutorRequest {
    EXECUTOR_PAUSE,
    EXECUTOR_RESUME, /* and end behind the kernel that computes */
    EXECUTOR_ABANDON,
    EXECUTOR_DISCARD,
} ExecutorRequest;

/* A device as it is opened first. */
typedef struct ExecutorDevice {
    const char *name, *kind, *determinism_class; /* borrowed, as long as the executor is there */
    bool host_memory;                            /* it computes in the host's memory */
    uint64_t memory_bytes;                       /* in all */
    uint64_t speed; /* beside the other devices; 0: it was not measured */
} ExecutorDevice;

/* Inputs of a job in memory, with which it has not begun. */
typedef struct ExecutorInputs {
    uint64_t bytes;
    int64_t item_count; /* BATCH_SINGLE: a single run */
} ExecutorInputs;

typedef struct ControlExecutorPort {
    /* Errors: OUT_OF_MEMORY; done is then not called. */
    MUST_CHECK Error *(*post)(void *self, ExecutorTask *task);
    /* The same as EXECUTOR_OPEN without waiting, of a job whose inputs and model are in memory.
     * False: nothing has changed, or the inputs are used up. */
    bool (*open_at_once)(void *self, const ExecutorTask *task);
    /* Begins a slice; hold->slice_ended is posted when it has ended. */
    void (*run)(void *self, JobHold *hold, uint32_t device, uint64_t grant_bytes);
    /* The slice that runs there keeps its thread; the next one does not wait for it. */
    void (*set_aside)(void *self, uint32_t device);
    /* from_ns: of PAUSE, when a kernel that still computes waits. Only while a slice runs. */
    void (*request)(void *self, JobHold *hold, ExecutorRequest what, uint64_t from_ns);
    /* The kernel that the slice computes. Of a hold without a run: none. */
    LongKernel (*get_kernel)(void *self, const JobHold *hold);
    /* Of a hold that rests, as the rest of these. */
    MUST_CHECK Error *(*take_snapshot)(void *self, const JobHold *hold, JobSnapshot *out_snapshot);
    int64_t (*items_done)(void *self, const JobHold *hold);
    JobRunCounters (*get_counters)(void *self, const JobHold *hold);
    char *(*take_class_change)(void *self, JobHold *hold); /* job_run_take_class_change */
    bool (*find_inputs)(void *self, const JobHold *hold, ExecutorInputs *out_inputs);
    void (*drop_inputs)(void *self, JobHold *hold);
    /* Lets run, model and inputs go. */
    void (*close)(void *self, JobHold *hold);

    void (*evict)(void *self, TenantId tenant, const Digest *identity, uint32_t device);
    void (*evict_all)(void *self, uint32_t device);
    /* Opens the next one. measures: there are others to compare its speed with. */
    MUST_CHECK Error *(*add_device)(
        void *self, const char *spec, bool measures, ExecutorDevice *out_device);
    /* Threads: any. Errors: DEVICE_LOST, also while it is closed; what the device says. */
    MUST_CHECK Error *(*get_memory)(void *self, uint32_t device, DeviceMemory *out_memory);
    uint64_t host_bytes; /* that the machine has */
    void *self;
} ControlExecutorPort;

/* ---- orders to the store ---- */

/* Everything of a job that is stored in one go: outputs, how far it is, a checkpoint, events, a
 * state. Made by the logic; the store's from commit until done is called. */
typedef struct StoreCommit {
    Message message; /* the store's */
    /* On the control thread, when the commit is durable or has failed: the commit is the logic's
     * again. */
    void (*done)(struct Control *control, struct StoreCommit *commit);
    ControlJob *job; /* the store does not look into it */
    TenantId tenant;
    JobId id;
    ControlOutputs outputs;
    bool has_snapshot;
    uint32_t snapshot_device; /* whose memory the snapshot refers to; no device: host memory */
    JobTelling *tellings;
    bool moving; /* the snapshot is of where the job left its device */
    JobSnapshot snapshot;
    int64_t checkpoints_kept;
    JobState state; /* NONE: as it is */
    char *why;      /* may be NULL */
    int64_t epoch, new_epoch;
    double device_seconds, started;
    uint64_t start_ns;
    char device[JOB_DEVICE_SIZE];
    /* Set by the store. */
    uint64_t checkpoint_bytes; /* that the checkpoint takes */
    Error *error;
} StoreCommit;

/* Storing a new job's row. Made by the logic; the store's from birth until done is called. */
typedef struct StoreBirth {
    Message message;                                                 /* the store's */
    void (*done)(struct Control *control, struct StoreBirth *birth); /* on the control thread */
    ControlJob *job; /* the store does not look into it, nor into the next */
    struct ControlRequest *sender;
    TenantId tenant;
    JobSubmission submission;
    const JobRestore *restore; /* NULL: a new job */
    /* Set by the store. */
    JobId id;
    bool created; /* false: the key stands for that job already */
    Error *error;
} StoreBirth;

/* What is to be known of a model without reading its weights. */
typedef struct StoreModel {
    uint64_t constant_bytes;
    bool device_strings;
} StoreModel;

/* What a job's events say of the time before this process had it. */
typedef struct StorePast {
    bool suspended; /* once, or more often */
    bool missed;    /* its deadline, and that was told */
} StorePast;

typedef struct ControlStorePort {
    /* Errors: OUT_OF_MEMORY; done is then not called. */
    MUST_CHECK Error *(*commit)(void *self, StoreCommit *commit);
    /* Errors: EXHAUSTED too much waits to be stored; OUT_OF_MEMORY. done is then not called. */
    MUST_CHECK Error *(*birth)(void *self, StoreBirth *birth);
    /* The device-time of a job whose end is stored already. Nobody hears of a failure. */
    void (*set_time)(void *self, TenantId tenant, JobId id, double device_seconds);

    /* Reads: when the logic begins, and for requests that name a job which is not in memory. */
    MUST_CHECK Error *(*get)(void *self, TenantId tenant, JobId id, Job *out_job);
    MUST_CHECK Error *(*get_at)(void *self, int64_t row, Job *out_job);
    void (*name_at)(void *self, int64_t row, char out[JOB_ID_TEXT_SIZE]);
    MUST_CHECK Error *(*list_places)(void *self, JobState state, int64_t after,
        JobPlace out_places[JOB_PLACES_MAX], size_t *out_count);
    MUST_CHECK Error *(*get_policy)(
        void *self, TenantId tenant, JobId id, ByteWriter *inout_policy);
    MUST_CHECK Error *(*find_past)(void *self, TenantId tenant, JobId id, StorePast *out_past);
    MUST_CHECK Error *(*find_model)(
        void *self, TenantId tenant, const Digest *identity, StoreModel *out_model);
    MUST_CHECK Error *(*get_tenant)(void *self, TenantId tenant, Tenant *out_tenant);
    MUST_CHECK Error *(*list_tenants)(void *self, TenantList **out_list);

    /* Rare, so they wait for their commit: jobs_hold, and a transition to CANCELLED. */
    MUST_CHECK Error *(*hold_at)(void *self, int64_t row, const char *why);
    MUST_CHECK Error *(*cancel)(void *self, TenantId tenant, JobId id);
    /* The store's final failure, if there was one. */
    MUST_CHECK Error *(*check)(void *self);
    void *self;
} ControlStorePort;

typedef struct ControlPorts {
    Clock clock; /* threads: any */
    ControlMailbox mailbox;
    ControlExecutorPort executor;
    ControlStorePort store; /* on the control thread; the reads of tenants on any */
} ControlPorts;
