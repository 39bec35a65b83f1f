#pragma once
/* The jobs in memory by number and by id, their models and their tenants. For control_jobs.c and
 * control_accounts.c; others look jobs up. On the control thread; what says so is guarded by the
 * status mutex. */
#include "scheduler/control/control.h"
#include "scheduler/control/state/control_job.h"
#include "scheduler/node/execution_limits.h"
#include "scheduler/node/recent_time.h"

/* What uses the same weights; where tenants are isolated, of one tenant. */
typedef struct ControlModel {
    IdKey key; /* control_model_number */
    Digest identity;
    TenantId tenant; /* one that has it */
    uint64_t constant_bytes;
    uint64_t loaded_ns[CONTROL_DEVICES_MAX]; /* its weights, last; 0: never */
    bool device_strings;                     /* of the executable */
    size_t job_count;
} ControlModel;

/* A tenant that has or had jobs in memory. Guarded by status_mutex, as is its being in tenants. */
typedef struct ControlTenant {
    IdKey key;
    PolicyEvent told; /* to the policy, last */
    ExecutionLimits limits;
    size_t jobs[CONTROL_PHASE_COUNT];
    uint64_t device_ns; /* since this process began */
    RecentTime recent, hour;
} ControlTenant;

typedef struct JobTable {
    IdMap by_number;
    IdMap by_id; /* guarded by status_mutex for writing */
    IdMap models;
    IdMap tenants; /* guarded by status_mutex for writing */
    uint64_t last_number;
    uint64_t kept_bytes; /* of inputs that wait in memory, though the store has them */
    /* The last ones that ended, for `run` through a daemon; guarded by status_mutex. */
    struct ControlEnded {
        JobId job;
        JobRunCounters counters;
    } ended[CONTROL_ENDED_MAX];
    uint64_t ended_count;
} JobTable;
