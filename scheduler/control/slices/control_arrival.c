#include "scheduler/control/slices/control_arrival.h"

#include "base/allocator.h"
#include "scheduler/control/adapters/control_executor.h"
#include "scheduler/control/jobs/control_commits.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/jobs/control_tellings.h"
#include "scheduler/control/jobs/job_reports.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/device_table.h"
#include "scheduler/control/state/job_models.h"
#include "scheduler/node/model_loader.h"
#include "serialize/checkpoint/warm_storages.h"

struct ControlArrival {
    Control *control;
    TenantId tenant;
    const ResidentModel *held;
    Residency *residency;
    uint32_t device; /* of the residency; CONTROL_DEVICES_MAX: the node has no such device */
    JobRun *run;
    WarmStorages *warm;
};

/* Loads the model's weights into host memory. Where the cpu runs jobs, its jobs share them. */
static Error *open_model(ControlArrival *self, TenantId tenant, const Digest *identity) {
    Control *control = self->control;
    const ControlOptions *options = &control->options;
    OWN(Executable, executable) = NULL;
    const ControlDevice *device = control_find_cpu(control, &self->device);
    TRY(resident_models_hold(control->executor->models, tenant, identity, &self->held));
    if (device) {
        TRY(resident_models_load(control->executor->models, tenant, identity, self->device,
            control->executor->drivers.items[self->device].device));
        self->residency =
            resident_models_get(control->executor->models, tenant, identity, self->device);
    }
    if (self->residency) return NULL;
    self->device = CONTROL_DEVICES_MAX;
    TRY(model_loader_load(options->store, tenant, options->pool, identity, &executable));
    return residency_create(executable, control->executor->host, control->executor->host,
        options->pool, &self->residency);
}

static Error *open_run(ControlArrival *self, const ExecutionLimits *limits, const JobPolicy *policy,
    uint32_t function, Batch *owned_batch) {
    ExecutionOptions options = job_policy_execution_options(policy);
    execution_limits_apply(limits, &options);
    TRY(job_run_create(owned_batch, function, &options, &self->run));
    job_run_set_suspend_at(self->run, policy->suspend_at, true);
    return warm_storages_create(self->residency->devices, limits->device_bytes, &self->warm);
}

Error *control_arrival_open(Control *control, TenantId tenant, const Digest *identity,
    const JobPolicy *policy, uint32_t function, Batch *owned_batch, ControlArrival **out_arrival) {
    OWN(Batch, batch) = owned_batch;
    OWN(ControlArrival, self) = NULL;
    Tenant row;
    TRY(memory_alloc(1, sizeof *self, (void **)&self));
    self->control = control;
    self->tenant = tenant;
    self->device = CONTROL_DEVICES_MAX;
    TRY(settings_cache_get_tenant(control->options.settings, tenant, &row));
    ExecutionLimits limits =
        execution_limits_of(&row, control->executor->host_bytes, &control->options.native);
    TRY(open_model(self, tenant, identity));
    TRY(open_run(self, &limits, policy, function, TAKE(batch)));
    *out_arrival = TAKE(self);
    return NULL;
}

/* A message that evicts weights which were loaded for a job that did not come. */
typedef struct Unused {
    Message message;
    TenantId tenant;
    Digest identity;
    uint32_t device;
} Unused;

/* Weights of a model that a job of this node uses or has used are evicted by the policy alone. */
static void evict_unused(void *context, Message *message) {
    Control *control = context;
    Unused *unused = (Unused *)message;
    uint64_t number = control_model_number(control, unused->tenant, &unused->identity);
    if (!control_find_model(control, number))
        resident_models_evict(
            control->executor->models, unused->tenant, &unused->identity, unused->device);
    memory_free(unused);
}

static void post_unused(const ControlArrival *self) {
    void *memory;
    Error *error = memory_alloc(1, sizeof(Unused), &memory);
    if (error) { /* they stay until the next job of that model ends */
        error_free(error);
        return;
    }
    Unused *unused = memory;
    *unused = (Unused){{.handle = evict_unused}, self->tenant, self->held->identity, self->device};
    control_post(self->control, &unused->message);
}

void control_arrival_close(ControlArrival *self) {
    if (!self) return;
    if (self->held && self->residency && self->device < CONTROL_DEVICES_MAX) post_unused(self);
    warm_storages_release(self->warm);
    job_run_release(self->run);
    residency_release(self->residency);
    if (self->held) resident_models_let_go(self->control->executor->models, self->held);
    memory_free(self);
}

Error *control_arrival_warm(ControlArrival *self, const Container *execution) {
    return warm_storages_read(
        self->warm, execution, self->control->options.pool, CHUNK_VERIFY_XXH3);
}

Error *control_arrival_restore(
    ControlArrival *self, const void *point, size_t size, ChunkSource source) {
    return job_run_restore(self->run, point, size, self->control->options.pool, CHUNK_VERIFY_XXH3,
        source, self->residency, self->warm);
}

void control_job_take_arrival(ControlJob *job, ControlArrival *owned_arrival) {
    OWN(ControlArrival, arrival) = owned_arrival;
    if (!arrival || arrival->device == CONTROL_DEVICES_MAX) return; /* it is opened elsewhere */
    job->hold.run = TAKE(arrival->run);
    job->hold.residency = TAKE(arrival->residency);
    job->hold.held = TAKE(arrival->held);
    job->site.device = arrival->device;
    control_step_site(job, JOB_SITE_EVENT_ARRIVE);
    job->slice.items_done = job_run_items_done(job->hold.run);
}

bool control_job_close_arrival(ControlJob *job, uint32_t device) {
    if (job->site.state != JOB_SITE_ARRIVED) return false;
    if (job->site.device == device) return true;
    control_step_site(job, JOB_SITE_EVENT_CLOSE);
    control_job_close(job);
    return false;
}

bool control_job_move_arrival(ControlJob *job, uint32_t device) {
    if (!control_job_close_arrival(job, device)) return false;
    control_step_site(job, JOB_SITE_EVENT_ENTERED);
    if (control_tell_class(job)) control_commit(job);
    control_report_moved(job, POLICY_EVENT_MOVED_IN, true);
    return true;
}
