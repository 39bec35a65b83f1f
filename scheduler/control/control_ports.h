#pragma once
/* The ports: what the control thread's logic asks of the world. The logic gives its orders through
 * them and knows neither threads nor SQLite. Each function returns at once, except the reads of the
 * store. The result of an order comes back as a message: in any order, after any time, never during
 * the call. A daemon's ports are made by control_loop.c, control_executor.c and control_store.c;
 * tests have ports of their own and drive the logic in one thread. */
#include "base/clock.h"
#include "scheduler/control/parts/control_outputs.h"
#include "scheduler/control/parts/pending_snapshot.h"
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
    /* Posts a message. The driver of the logic calls message->handle(control, message) on the
     * control thread, and then control_core_turn. Threads: any. */
    void (*post)(void *self, Message *message);
    /* Leaves a message that the caller handles itself by a call of help right behind this. NULL:
     * the driver takes no help; so is the next one then. Threads: any. */
    void (*leave)(void *self, Message *message);
    /* Handles messages on the caller's thread, unless another thread does that. Threads: any
     * without a lock. */
    void (*help)(void *self);
    void *self;
} ControlMailbox;

/* ---- orders to what runs jobs ---- */

/* The run of a job: inputs, model, execution and slice. The executor makes, uses and empties it.
 * The owner that job_site.def names for the job's state may touch it: the control thread, one I/O
 * task, or the worker's thread. */
typedef struct JobHold {
    Batch *batch; /* inputs to begin with; NULL: the store has them, or the run used them up */
    JobRun *run;
    const ResidentModel *held;
    Residency *residency;          /* where the run is; NULL: in host memory, or there is no run */
    WorkerSlice slice;             /* the logic reads its result when the slice has ended */
    ControlOutputs outputs;        /* that the slice made */
    Message slice_ended;           /* the logic sets its handler, and that of `paused` */
    Message paused;                /* posted when a kernel of the slice waits */
    atomic_bool pause_told;        /* `paused` is on its way */
    bool brief;                    /* set by the logic: a lent thread may run the slice */
    const ControlMailbox *mailbox; /* the executor's */
} JobHold;

/* How long a slice may have a thread that was lent to it. */
#define EXECUTOR_LENT_NS ((uint64_t)1000000)

typedef enum ExecutorTaskKind {
    EXECUTOR_OPEN,            /* reads model, inputs and the newest checkpoint, for a slice */
    EXECUTOR_ENTER_FROM_DISK, /* the same, because the policy moves the job in */
    EXECUTOR_ENTER_FROM_HOST,
    EXECUTOR_LEAVE_TO_HOST,
    EXECUTOR_LOAD_WEIGHTS,
    EXECUTOR_CLOSE_DEVICE, /* waits for the threads that read the device's memory */
    EXECUTOR_OPEN_DEVICE,  /* opens a device that was closed */
} ExecutorTaskKind;

/* Work that waits or takes long. The logic makes the task; the executor owns it from `post` until
 * it calls `done`. */
typedef struct ExecutorTask {
    Message message;                                                  /* the executor's */
    void (*done)(struct Control *control, struct ExecutorTask *task); /* on the control thread */
    ExecutorTaskKind kind;
    JobHold *hold;   /* NULL for weights and devices, as are all members of a job */
    ControlJob *job; /* the executor does not look into it */
    TenantId tenant;
    JobId id;
    const JobPolicy *policy; /* borrowed from the job */
    uint64_t model;          /* the policy's number of the model; the executor does not use it */
    Digest identity;         /* of the model */
    uint32_t device;
    ExecutionLimits limits; /* of the job's tenant */
    uint64_t grant_bytes;   /* of the job when the task was made, as are the next three */
    bool fresh, has_checkpoint, suspend_passed;
    uint32_t function; /* of the executable; the executor sets it where it reads inputs */
    /* Set by the executor. */
    uint64_t device_bytes; /* the memory of a device that was opened */
    Error *error;
} ExecutorTask;

/* What a slice is asked for. job_run.h describes each at job_run_request_pause and its like. */
typedef enum ExecutorRequest {
    EXECUTOR_PAUSE,
    EXECUTOR_RESUME, /* goes on, and ends behind the kernel that computes */
    EXECUTOR_ABANDON,
    EXECUTOR_DISCARD,
} ExecutorRequest;

/* The facts of a device, set when the device is opened for the first time. */
typedef struct ExecutorDevice {
    const char *name, *kind, *determinism_class; /* borrowed until the executor is released */
    bool host_memory;                            /* the device computes in the host's memory */
    uint64_t memory_bytes;                       /* all memory of the device */
    uint64_t speed; /* relative to the other devices; 0: not measured */
} ExecutorDevice;

/* Inputs in memory of a job that has not begun. */
typedef struct ExecutorInputs {
    uint64_t bytes;
    int64_t item_count; /* BATCH_SINGLE: a single run */
} ExecutorInputs;

typedef struct ControlExecutorPort {
    /* Begins a task. Errors: OUT_OF_MEMORY; `done` is not called then. */
    MUST_CHECK Error *(*post)(void *self, ExecutorTask *task);
    /* Does EXECUTOR_OPEN at once for a job whose inputs and model are in memory. False: nothing has
     * changed, or the inputs are used up. */
    bool (*open_at_once)(void *self, const ExecutorTask *task);
    /* Begins a slice. hold->slice_ended is posted when the slice has ended. Returns true if the
     * slice runs on a lent thread, which wants it back after EXECUTOR_LENT_NS. */
    bool (*run)(void *self, JobHold *hold, uint32_t device, uint64_t grant_bytes);
    /* Lets the slice of the device keep its thread; the next slice does not wait for that thread.
     */
    void (*set_aside)(void *self, uint32_t device);
    /* Only while a slice runs. from_ns: of PAUSE, the time from which a kernel waits. */
    void (*request)(void *self, JobHold *hold, ExecutorRequest what, uint64_t from_ns);
    /* The kernel that the slice computes; none for a hold without a run. */
    LongKernel (*get_kernel)(void *self, const JobHold *hold);
    /* Only of a job that rests, as every function from here to `close`. */
    MUST_CHECK Error *(*take_snapshot)(void *self, const JobHold *hold, JobSnapshot *out_snapshot);
    int64_t (*items_done)(void *self, const JobHold *hold);
    JobRunCounters (*get_counters)(void *self, const JobHold *hold);
    char *(*take_class_change)(void *self, JobHold *hold); /* job_run_take_class_change */
    bool (*find_inputs)(void *self, const JobHold *hold, ExecutorInputs *out_inputs);
    void (*drop_inputs)(void *self, JobHold *hold);
    /* Releases run, model and inputs. */
    void (*close)(void *self, JobHold *hold);

    void (*evict)(void *self, TenantId tenant, const Digest *identity, uint32_t device);
    void (*evict_all)(void *self, uint32_t device);
    /* Opens one more device. measures: the node has several, so their speeds are compared. */
    MUST_CHECK Error *(*add_device)(
        void *self, const char *spec, bool measures, ExecutorDevice *out_device);
    /* Threads: any. Errors: DEVICE_LOST, also while it is closed; what the device says. */
    MUST_CHECK Error *(*get_memory)(void *self, uint32_t device, DeviceMemory *out_memory);
    uint64_t host_bytes; /* that the machine has */
    void *self;
} ControlExecutorPort;

/* ---- orders to the store ---- */

/* Everything of a job that is stored in one transaction: outputs, progress, a checkpoint, events, a
 * state. The logic makes the commit; the store owns it from `commit` until it calls `done`. */
typedef struct StoreCommit {
    Message message; /* the store's */
    /* Called on the control thread when the commit is durable or has failed. */
    void (*done)(struct Control *control, struct StoreCommit *commit);
    ControlJob *job; /* the store does not look into it */
    TenantId tenant;
    JobId id;
    ControlOutputs outputs;
    PendingSnapshot snapshot; /* becomes a checkpoint */
    JobTelling *tellings;
    bool moving; /* the snapshot is that of a move to disk */
    int64_t checkpoints_kept;
    JobState state; /* NONE: the state stays */
    char *why;      /* may be NULL */
    int64_t epoch, new_epoch;
    double device_seconds, started;
    uint64_t start_ns;
    char device[JOB_DEVICE_SIZE];
    /* Set by the store. */
    uint64_t checkpoint_bytes; /* the size of the checkpoint */
    Error *error;
} StoreCommit;

/* The row of a new job. The logic makes it; the store owns it from `birth` until it calls `done`.
 */
typedef struct StoreBirth {
    Message message;                                                 /* the store's */
    void (*done)(struct Control *control, struct StoreBirth *birth); /* on the control thread */
    ControlJob *job; /* the store does not look into the job, nor into the sender */
    struct ControlRequest *sender;
    TenantId tenant;
    JobSubmission submission;
    const JobRestore *restore; /* NULL: a new job */
    /* Set by the store. */
    JobId id;
    bool created; /* false: id is an older job with the same key */
    Error *error;
} StoreBirth;

/* The facts of a model that are read without its weights. */
typedef struct StoreModel {
    uint64_t constant_bytes;
    bool device_strings;
} StoreModel;

/* What a job's events say of the time before this process took the job up. */
typedef struct StorePast {
    bool suspended; /* the job was suspended at least once */
    bool missed;    /* an event says that the job missed its deadline */
} StorePast;

typedef struct ControlStorePort {
    /* Begins a commit. Errors: OUT_OF_MEMORY; `done` is not called then. */
    MUST_CHECK Error *(*commit)(void *self, StoreCommit *commit);
    /* Begins to store a row. Errors: EXHAUSTED too much waits to be stored; OUT_OF_MEMORY. `done`
     * is not called then. */
    MUST_CHECK Error *(*birth)(void *self, StoreBirth *birth);
    /* Stores the device-time of a job whose end is stored already. A failure is ignored. */
    void (*set_time)(void *self, TenantId tenant, JobId id, double device_seconds);

    /* Reads wait for the disk. Called when the logic begins, and for requests that name a job which
     * is not in memory. */
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

    /* Rare changes, which wait for their commit: jobs_hold, and a transition to CANCELLED. */
    MUST_CHECK Error *(*hold_at)(void *self, int64_t row, const char *why);
    MUST_CHECK Error *(*cancel)(void *self, TenantId tenant, JobId id);
    /* The failure after which the store stores nothing any more; NULL: there was none. */
    MUST_CHECK Error *(*check)(void *self);
    void *self;
} ControlStorePort;

typedef struct ControlPorts {
    Clock clock; /* Threads: any */
    ControlMailbox mailbox;
    ControlExecutorPort executor;
    ControlStorePort store; /* Threads: control; any for the reads of tenants */
} ControlPorts;
