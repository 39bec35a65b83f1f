#pragma once
/* The tenants that have or had jobs in memory: what the policy was told of a tenant, and the limits
 * of its executions. Called where a job of the tenant comes and where its quotas change, on the
 * control thread. */
#include "scheduler/control/parts/job_account.h"
#include "scheduler/control/state/control_state.h"
#include "scheduler/node/execution_limits.h"
#include "scheduler/node/recent_time.h"
#include "scheduler/policy/id_map.h"

/* The window of the shares of device-time that tenants are shown. */
#define CONTROL_SHARE_WINDOW_NS UINT64_C(10000000000)

/* For control_tenants.c and control_accounts.c. Guarded by the status mutex. */
typedef struct ControlTenant {
    IdKey key;
    PolicyEvent told; /* to the policy, last */
    ExecutionLimits limits;
    size_t jobs[CONTROL_PHASE_COUNT];
    uint64_t device_ns; /* since this process began */
    RecentTime recent, hour;
} ControlTenant;

typedef struct TenantTable {
    IdMap map; /* guarded by the status mutex for writing */
} TenantTable;

void tenant_table_deinit(TenantTable *tenants);

/* NULL: the tenant has never had a job in memory. */
ControlTenant *control_find_tenant(const Control *control, TenantId tenant);
/* Tells the policy of a tenant whose weight or quotas are new or have changed. */
MUST_CHECK Error *control_tell_tenant(Control *control, TenantId tenant);
/* The limits of an execution. Only for a tenant that control_tell_tenant was called for. */
ExecutionLimits control_find_limits(const Control *control, TenantId tenant);
