#pragma once
/* Limits on the memory and depth of one execution in a process that many tenants share, and whether
 * the execution may run native code. Called by
 * the control thread when a run is made. Pure: no state.
 *
 * device_bytes, host_bytes, depth: the tenant's quotas of these names, or the machine's limits if
 * the tenant has none. The policy counts the memory of all executions of a tenant together; these
 * limits make each execution fail by itself, independently of the policy. */
#include "store/accounts/tenants.h"
#include "vm/execution/execution.h"

/* Registers, shapes and counters need some host memory in any case. */
#define EXECUTION_LIMITS_HOST_MIN ((uint64_t)16 << 20)

enum { NATIVE_TENANTS_MAX = 64 };

/* The tenants whose models may run native code on this node, as its operator said at the start. */
typedef struct NativeTenants {
    const char *names[NATIVE_TENANTS_MAX]; /* borrowed */
    uint32_t count;
    const char
        *preload; /* libraries that native workers load before, separated by ':'; NULL: none */
} NativeTenants;

typedef struct ExecutionLimits {
    uint64_t device_bytes; /* on its device; 0: the whole device */
    uint64_t host_bytes;   /* for each of: its tensors in slot 0; its other objects; one output */
    uint32_t depth;        /* frames */
    NativeRules native;
} ExecutionLimits;

/* host_total_bytes: of the machine. A tenant without a quota host_bytes gets a quarter of it. The
 * limits borrow `native`'s texts. */
ExecutionLimits execution_limits_of(
    const Tenant *tenant, uint64_t host_total_bytes, const NativeTenants *native);
void execution_limits_apply(const ExecutionLimits *limits, ExecutionOptions *inout_options);
