#include <stdio.h>
#include <string.h>

#include "scheduler/service/job_service_internal.h"

/* A tenant that was removed meanwhile has no name any more. */
static Error *tell_running(
    JobService *service, const ControlDeviceStatus *status, JobsApiDevice *device) {
    Tenant tenant;
    job_id_print(status->job, device->job);
    Error *error = settings_cache_get_tenant(service->settings, status->tenant, &tenant);
    if (!error) (void)snprintf(device->tenant, sizeof device->tenant, "%s", tenant.name);
    if (error_code(error) != ERROR_NOT_FOUND) return error;
    error_free(error);
    return NULL;
}

Error *job_service_devices(
    void *self, const Caller *caller, JobsApiDeviceVisitor *visit, void *context) {
    JobService *service = self;
    for (uint32_t i = 0; i < control_device_count(service->control); i++) {
        ControlDeviceStatus status;
        TRY(control_get_device(service->control, i, &status));
        JobsApiDevice device = {.memory_bytes = status.memory.total_bytes,
            .free_bytes = status.memory.free_bytes,
            .busy_seconds = status.busy_seconds,
            .speed = status.speed,
            .determinism_class = status.determinism_class};
        (void)snprintf(device.device, sizeof device.device, "%s", status.name);
        (void)snprintf(device.name, sizeof device.name, "%s", status.kind);
        if (status.job.number && (caller->role == CALLER_ADMIN || status.tenant == caller->tenant))
            TRY(tell_running(service, &status, &device));
        TRY(visit(context, &device));
    }
    return NULL;
}

static Error *tell_tenant(
    JobService *service, const Tenant *row, JobsApiTenantVisitor *visit, void *context) {
    ControlTenantStatus status;
    control_get_tenant(service->control, row->id, &status);
    JobsApiTenant tenant = {.weight = row->weight,
        .queued = (int64_t)status.waiting,
        .running = (int64_t)(status.running + status.ending),
        .suspended = (int64_t)status.suspended,
        .device_seconds = status.device_seconds,
        .share = status.share};
    (void)snprintf(tenant.tenant, sizeof tenant.tenant, "%s", row->name);
    return visit(context, &tenant);
}

Error *job_service_tenants(void *self, const Caller *caller, const char *after, size_t count_max,
    JobsApiTenantVisitor *visit, void *context) {
    JobService *service = self;
    OWN(TenantList, rows) = NULL;
    Tenant own;
    if (caller->role != CALLER_ADMIN) {
        if (!caller->tenant) return NULL;
        TRY(tenants_get_settings(service->store, caller->tenant, &own));
        return strcmp(own.name, after) > 0 ? tell_tenant(service, &own, visit, context) : NULL;
    }
    TRY(tenants_list_page(service->store, after, count_max, &rows));
    for (size_t i = 0; i < rows->count; i++)
        TRY(tell_tenant(service, &rows->items[i], visit, context));
    return NULL;
}

void job_service_use(void *self, TenantId tenant, JobsApiUse *out_use) {
    const JobService *service = self;
    ControlTenantStatus status;
    control_get_tenant(service->control, tenant, &status);
    *out_use = (JobsApiUse){.running_jobs = (int64_t)status.running,
        .device_seconds_per_hour = status.device_seconds_last_hour};
}

void job_service_tenant_changed(void *self, TenantId tenant) {
    const JobService *service = self;
    /* a control thread that ends learns of the change at its next start */
    error_free(control_tell_quotas(service->control, tenant));
}

void job_service_explain_wait(JobService *service, const Tenant *tenant, JobsApiJob *inout_job) {
    ControlTenantStatus status;
    const int64_t *quotas = tenant->quotas;
    int64_t seconds = quotas[QUOTA_DEVICE_SECONDS_PER_HOUR], jobs = quotas[QUOTA_RUNNING_JOBS];
    if (seconds == QUOTA_UNLIMITED && jobs == QUOTA_UNLIMITED) return;
    control_get_tenant(service->control, tenant->id, &status);
    if (seconds != QUOTA_UNLIMITED && status.device_seconds_last_hour >= (double)seconds)
        (void)snprintf(inout_job->why, sizeof inout_job->why,
            "waits for the tenant's quota device_seconds_per_hour: %.3f of %lld used",
            status.device_seconds_last_hour, (long long)seconds);
    else if (jobs != QUOTA_UNLIMITED && (int64_t)status.running >= jobs)
        (void)snprintf(inout_job->why, sizeof inout_job->why,
            "waits for the tenant's quota running_jobs: %lld of %lld run",
            (long long)status.running, (long long)jobs);
}

void job_service_explain_turn(JobService *service, const Job *row, JobsApiJob *inout_job) {
    char why[JOB_WHY_SIZE];
    if (row->state != JOB_STATE_QUEUED || inout_job->why[0] ||
        strcmp(inout_job->state, job_state_info(JOB_STATE_QUEUED)->name) != 0)
        return;
    Error *error = control_explain(service->control, row->tenant, row->id, why);
    if (!error) (void)snprintf(inout_job->why, sizeof inout_job->why, "%s", why);
    error_free(error); /* a daemon that ends explains nothing */
}
