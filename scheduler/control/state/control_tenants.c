#include "scheduler/control/state/control_tenants.h"

#include "base/allocator.h"
#include "base/duration.h"
#include "scheduler/control/state/control_shared.h"
#include "scheduler/control/state/policy_driver.h"
#include "scheduler/node/recent_time.h"

void tenant_table_deinit(TenantTable *tenants) {
    for (size_t i = 0; i < tenants->map.capacity; i++) memory_free(tenants->map.slots[i]);
    id_map_deinit(&tenants->map);
}

ControlTenant *control_find_tenant(const Control *control, TenantId tenant) {
    return id_map_find(&control->tenants->map, 0, (uint64_t)tenant);
}

static uint64_t limit(const Tenant *tenant, QuotaId quota) {
    return tenant->quotas[quota] == QUOTA_UNLIMITED ? POLICY_NO_LIMIT
                                                    : (uint64_t)tenant->quotas[quota];
}

static Error *add_tenant(Control *control, TenantId id, ControlTenant **out_tenant) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ControlTenant), &memory));
    ControlTenant *tenant = memory;
    tenant->key.low = (uint64_t)id;
    recent_time_init(&tenant->recent, CONTROL_SHARE_WINDOW_NS);
    recent_time_init(&tenant->hour, 3600 * SECOND_NS);
    control_lock(control);
    Error *error = id_map_add(&control->tenants->map, &tenant->key);
    control_unlock(control);
    if (error)
        memory_free(tenant);
    else
        *out_tenant = tenant;
    return error;
}

/* Compares what control_tell_tenant sets; bytes between the members have no value. */
static bool tells_the_same(const PolicyEvent *a, const PolicyEvent *b) {
    return a->weight == b->weight && a->running_jobs == b->running_jobs &&
           a->queued_jobs == b->queued_jobs && a->device_bytes == b->device_bytes &&
           a->host_bytes == b->host_bytes &&
           a->device_seconds_per_hour == b->device_seconds_per_hour;
}

Error *control_tell_tenant(Control *control, TenantId id) {
    Tenant tenant;
    const ControlStorePort *store = &control->ports.store;
    TRY(store->get_tenant(store->self, id, &tenant));
    PolicyEvent event = {.kind = POLICY_EVENT_TENANT_SET,
        .tenant = (uint64_t)id,
        .weight = (uint64_t)tenant.weight,
        .running_jobs = limit(&tenant, QUOTA_RUNNING_JOBS),
        .queued_jobs = limit(&tenant, QUOTA_QUEUED_JOBS),
        .device_bytes = limit(&tenant, QUOTA_DEVICE_BYTES),
        .host_bytes = limit(&tenant, QUOTA_HOST_BYTES),
        .device_seconds_per_hour = limit(&tenant, QUOTA_DEVICE_SECONDS_PER_HOUR)};
    ExecutionLimits limits =
        execution_limits_of(&tenant, control->ports.executor.host_bytes, &control->options.native);
    ControlTenant *known = control_find_tenant(control, id);
    if (known) known->limits = limits;
    if (known && tells_the_same(&known->told, &event)) return NULL;
    if (!known) TRY(add_tenant(control, id, &known));
    known->told = event;
    known->limits = limits;
    control_post_event(control, event);
    return NULL;
}

ExecutionLimits control_find_limits(const Control *control, TenantId tenant) {
    return control_find_tenant(control, tenant)->limits;
}
