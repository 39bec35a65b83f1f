#pragma once
/* What the control thread's logic asks of the world. Each function returns at once, but for the
 * reads of the store. What an order leads to comes back as a message, in any order and after any
 * time, and never during the call. A daemon's ports are in control_loop.c and control_store.c; a
 * test has ports of its own and drives the logic in one thread. */
#include "base/clock.h"
#include "scheduler/control/control_outputs.h"
#include "scheduler/executor/job_run.h"
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
    uint32_t snapshot_device;
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
    ControlStorePort store; /* on the control thread; the reads of tenants on any */
} ControlPorts;
