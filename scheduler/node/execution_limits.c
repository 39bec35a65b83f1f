#include "scheduler/node/execution_limits.h"

#include <string.h>

/* 0 means "no limit" to an execution. */
static uint64_t at_least(int64_t quota, uint64_t least) {
    return quota > 0 && (uint64_t)quota > least ? (uint64_t)quota : least;
}

static NativeRules native_rules_of(const Tenant *tenant, const NativeTenants *native) {
    NativeRules rules = {.preload = native->preload};
    for (uint32_t i = 0; i < native->count; i++)
        rules.allowed = rules.allowed || strcmp(native->names[i], tenant->name) == 0;
    return rules;
}

ExecutionLimits execution_limits_of(
    const Tenant *tenant, uint64_t host_total_bytes, const NativeTenants *native) {
    const int64_t *quotas = tenant->quotas;
    ExecutionLimits limits = {.host_bytes = host_total_bytes / 4, .depth = EXECUTION_DEPTH_DEFAULT};
    if (quotas[QUOTA_DEVICE_BYTES] != QUOTA_UNLIMITED)
        limits.device_bytes = at_least(quotas[QUOTA_DEVICE_BYTES], 1);
    if (quotas[QUOTA_HOST_BYTES] != QUOTA_UNLIMITED)
        limits.host_bytes = at_least(quotas[QUOTA_HOST_BYTES], EXECUTION_LIMITS_HOST_MIN);
    if (limits.host_bytes < EXECUTION_LIMITS_HOST_MIN)
        limits.host_bytes = EXECUTION_LIMITS_HOST_MIN;
    if (quotas[QUOTA_DEPTH] != QUOTA_UNLIMITED) {
        uint64_t depth = at_least(quotas[QUOTA_DEPTH], 1);
        limits.depth = depth < INT32_MAX ? (uint32_t)depth : INT32_MAX;
    }
    limits.native = native_rules_of(tenant, native);
    return limits;
}

void execution_limits_apply(const ExecutionLimits *limits, ExecutionOptions *inout_options) {
    inout_options->memory_limit_bytes[SLOT_DEVICE] = limits->device_bytes;
    inout_options->memory_limit_bytes[SLOT_HOST] = limits->host_bytes;
    inout_options->depth_limit = limits->depth;
    inout_options->native = limits->native;
}
