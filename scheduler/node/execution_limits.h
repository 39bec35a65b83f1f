#pragma once
/* What one execution may take of the process that it shares with those of other tenants.
 *
 * device_bytes, host_bytes, depth: the tenant's quotas of these names; the machine's where it has
 * none. The policy counts what all executions of a tenant hold together; this is what each of them
 * can reach before it fails, whatever the policy was told. */
#include "store/accounts/tenants.h"
#include "vm/execution/execution.h"

/* Registers, shapes and counters need some host memory in any case. */
#define EXECUTION_LIMITS_HOST_MIN ((uint64_t)16 << 20)

typedef struct ExecutionLimits {
    uint64_t device_bytes; /* on its device; 0: all that the device has */
    uint64_t host_bytes;   /* its tensors in slot 0; its other objects; one output of it: each */
    uint32_t depth;        /* frames */
} ExecutionLimits;

/* host_total_bytes: of the machine. A quarter of it is the limit of who has no quota host_bytes. */
ExecutionLimits execution_limits_of(const Tenant *tenant, uint64_t host_total_bytes);
void execution_limits_apply(const ExecutionLimits *limits, ExecutionOptions *inout_options);
