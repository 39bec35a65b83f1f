#include <math.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/jobs/control_tellings.h"
#include "scheduler/control/state/control_internal.h"

/* Inputs of waiting jobs in memory. */
enum { KEPT_EACH_MAX = 64 << 10, KEPT_MAX = 4 << 20, KEPT_OVERHEAD = 1 << 10 };

bool control_job_has_many_outputs(const ControlJob *job) {
    return control_outputs_are_many(job->pending.outputs.count + job->pending.under_way.count,
        job->pending.outputs.bytes + job->pending.under_way.bytes);
}

Error *control_job_create(Control *control, ControlJob **out_job) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ControlJob), &memory));
    ControlJob *job = memory;
    job->number.low = control->jobs.last_number + 1;
    job->control = control;
    job->slice.grant_bytes = UINT64_MAX;
    job->demanded = job->account.status.demanded = POLICY_NO_DEVICE;
    job->account.submitted = control_calendar_s(control);
    job->account.started = NAN;
    job->deadline = NAN;
    job->slice.items_done = job->account.status.items_done = -1;
    Error *error = id_map_add(&control->jobs.by_number, &job->number);
    if (error) {
        memory_free(job);
        return error;
    }
    control->jobs.last_number++;
    *out_job = job;
    return NULL;
}

Error *control_job_name(ControlJob *job, JobId id) {
    Control *control = job->control;
    (void)pthread_mutex_lock(&control->status_mutex);
    job->id = id;
    job->name.key = (IdKey){id.node, id.number};
    job->name.job = job;
    Error *error = id_map_add(&control->jobs.by_id, &job->name.key);
    (void)pthread_mutex_unlock(&control->status_mutex);
    if (error)
        job->name.job = NULL;
    else
        control_step_storing(job, JOB_STORING_EVENT_ROW_STORED);
    return error;
}

ControlJob *control_job_find(Control *control, TenantId tenant, JobId id) {
    struct ControlJobName *name = id_map_find(&control->jobs.by_id, id.node, id.number);
    return name && name->job->tenant == tenant ? name->job : NULL;
}

uint64_t control_model_number(const Control *control, TenantId tenant, const Digest *identity) {
    uint64_t number;
    memcpy(&number, identity->bytes, sizeof number);
    return control->options.isolate ? number ^ digest_xxh3(&tenant, sizeof tenant) : number;
}

Error *control_job_set_model(
    ControlJob *job, const Digest *identity, uint64_t constant_bytes, bool device_strings) {
    Control *control = job->control;
    const uint64_t number = control_model_number(control, job->tenant, identity);
    ControlModel *model = id_map_find(&control->jobs.models, 0, number);
    if (!model) {
        void *memory;
        TRY(memory_alloc(1, sizeof(ControlModel), &memory));
        model = memory;
        *model = (ControlModel){.key = {0, number},
            .identity = *identity,
            .tenant = job->tenant,
            .constant_bytes = constant_bytes,
            .device_strings = device_strings};
        Error *error = id_map_add(&control->jobs.models, &model->key);
        if (error) {
            memory_free(model);
            return error;
        }
    }
    model->tenant = job->tenant; /* the newest user surely has it */
    model->job_count++;
    job->model = model;
    return NULL;
}

void control_job_keep_inputs(ControlJob *job) {
    Control *control = job->control;
    const ControlExecutorPort *executor = &control->ports.executor;
    ExecutorInputs inputs;
    if (!executor->find_inputs(executor->self, &job->hold, &inputs)) return;
    const uint64_t bytes = inputs.bytes + KEPT_OVERHEAD;
    if (bytes <= KEPT_EACH_MAX && control->jobs.kept_bytes + bytes <= KEPT_MAX) {
        job->kept_bytes = bytes;
        control->jobs.kept_bytes += bytes;
        return;
    }
    executor->drop_inputs(executor->self, &job->hold);
}

void control_job_count_out(ControlJob *job) {
    job->control->jobs.kept_bytes -= job->kept_bytes;
    job->kept_bytes = 0;
}

Error *control_job_take_snapshot(ControlJob *job) {
    const uint32_t index = job->site.device;
    const ControlDevice *device = &job->control->devices.items[index];
    if (job_goal_info(&job->asked.goal)->discards_slice)
        FAIL(CONFLICT, "the job is to end: outputs that it made may be dropped already");
    control_job_drop_snapshot(job);
    if (job_site_is_on(&job->site, index) && device_presence_is_lost(&device->presence))
        FAIL(DEVICE_LOST, "%s is lost", device->facts.name);
    const ControlExecutorPort *executor = &job->control->ports.executor;
    TRY(executor->take_snapshot(executor->self, &job->hold, &job->pending.snapshot));
    job->pending.snapshot_on = 1 + index;
    return NULL;
}

void control_job_drop_snapshot(ControlJob *job) {
    if (job->pending.snapshot_on) job_snapshot_deinit(&job->pending.snapshot);
    job->pending.snapshot_on = 0;
}

ExecutorTask control_job_task(ControlJob *job, ExecutorTaskKind kind, uint32_t device) {
    return (ExecutorTask){.kind = kind,
        .hold = &job->hold,
        .job = job,
        .tenant = job->tenant,
        .id = job->id,
        .policy = &job->policy,
        .identity = job->model->identity,
        .device = device,
        .limits = control_find_limits(job->control, job->tenant),
        .grant_bytes = job->slice.grant_bytes,
        .fresh = job->pending.durable.state == JOB_DURABLE_INPUTS,
        .has_checkpoint = job_durable_has_checkpoint(&job->pending.durable),
        .suspend_passed = job->asked.suspend_due_ns == JOB_SUSPEND_PASSED,
        .function = job->function};
}

void control_post_task(Control *control, ExecutorTask owned_task) {
    const ControlExecutorPort *executor = &control->ports.executor;
    void *memory;
    Error *error = memory_alloc(1, sizeof(ExecutorTask), &memory);
    if (error) {
        control_fail(control, error);
        return;
    }
    ExecutorTask *task = memory;
    *task = owned_task;
    control->in_flight++;
    error = executor->post(executor->self, task);
    if (!error) return;
    control->in_flight--;
    memory_free(task);
    control_fail(control, error);
}

void control_request_slice(ControlJob *job, ExecutorRequest what, uint64_t from_ns) {
    const ControlExecutorPort *executor = &job->control->ports.executor;
    executor->request(executor->self, &job->hold, what, from_ns);
}

LongKernel control_job_get_kernel(const ControlJob *job) {
    const ControlExecutorPort *executor = &job->control->ports.executor;
    return executor->get_kernel(executor->self, &job->hold);
}

void control_job_close(ControlJob *job) {
    control_job_count_out(job);
    job->control->ports.executor.close(job->control->ports.executor.self, &job->hold);
}

void control_job_free(ControlJob *job) {
    control_outputs_append(&job->pending.outputs, &job->hold.outputs);
    if (job->site.state == JOB_SITE_FAILED_ASIDE) error_free(job->hold.slice.error);
    control_job_close(job);
    control_outputs_deinit(&job->pending.outputs);
    control_job_drop_snapshot(job);
    job_policy_deinit(&job->policy);
    memory_free(job->pending.next.why);
    memory_free(job->asked.halt_why);
    control_tellings_free(job->pending.tellings);
    memory_free(job->account.status.waits_for);
    memory_free(job);
}

void control_job_settle(ControlJob *job) {
    Control *control = job->control;
    if (!job_storing_has_ended(&job->pending.storing)) return;
    if (job_site_is_running(&job->site) || job_site_is_busy(&job->site)) return;
    control_leave_policy(job);
    if (job->known && control_life_decides(&control->life)) return;
    (void)pthread_mutex_lock(&control->status_mutex);
    control_account_phase(job);
    if (job->name.job) id_map_remove(&control->jobs.by_id, &job->name.key);
    if (job->name.job && job->slice.counters.instructions > 0)
        control->jobs.ended[control->jobs.ended_count++ % CONTROL_ENDED_MAX] =
            (struct ControlEnded){job->id, job->slice.counters};
    (void)pthread_mutex_unlock(&control->status_mutex);
    id_map_remove(&control->jobs.by_number, &job->number);
    if (job->model) job->model->job_count--;
    control_job_free(job);
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
    control_account_begin(control, tenant);
    (void)pthread_mutex_lock(&control->status_mutex);
    Error *error = id_map_add(&control->jobs.tenants, &tenant->key);
    (void)pthread_mutex_unlock(&control->status_mutex);
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
    ExecutionLimits limits = execution_limits_of(&tenant, control->ports.executor.host_bytes);
    ControlTenant *known = id_map_find(&control->jobs.tenants, 0, (uint64_t)id);
    if (known) known->limits = limits;
    if (known && tells_the_same(&known->told, &event)) return NULL;
    if (!known) TRY(add_tenant(control, id, &known));
    known->told = event;
    known->limits = limits;
    control_post_event(control, event);
    return NULL;
}

ExecutionLimits control_find_limits(const Control *control, TenantId tenant) {
    const ControlTenant *known = id_map_find(&control->jobs.tenants, 0, (uint64_t)tenant);
    return known->limits;
}

Error *control_find_device(const Control *control, const char *name, uint64_t *out_device) {
    *out_device = POLICY_NO_DEVICE;
    if (!name || !name[0]) return NULL;
    for (uint32_t i = 0; i < control->devices.count; i++)
        if (strcmp(control->devices.items[i].facts.name, name) == 0) {
            *out_device = i;
            return NULL;
        }
    FAIL(NOT_FOUND, "there is no device %s here", name);
}

/* A time of the calendar on the monotonic clock; 0 for none. */
static uint64_t deadline_ns(const ControlJob *job) {
    const Control *control = job->control;
    if (job->asked.deadline_state != JOB_DEADLINE_AHEAD) return 0;
    double left = job->deadline - control_calendar_s(control);
    if (left > 1e9) return 0; /* thirty years: as good as none */
    uint64_t now_ns = control_now_ns(control);
    return left > 0 ? now_ns + (uint64_t)(left * 1e9) : now_ns;
}

/* How long it will take, where it has a deadline and others of its kind were seen to end. */
static void estimate(ControlJob *job) {
    const ControlExecutorPort *executor = &job->control->ports.executor;
    ExecutorInputs inputs;
    if (isnan(job->deadline) || !executor->find_inputs(executor->self, &job->hold, &inputs)) return;
    const int64_t items = inputs.item_count;
    uint64_t expected_ns = run_times_expect(job->control->run_times, job->model->key.low,
        job->function, items > 0 ? (uint64_t)items : 1);
    if (!expected_ns) return;
    if (expected_ns > POLICY_TIME_MAX) expected_ns = POLICY_TIME_MAX;
    control_post_event(job->control, (PolicyEvent){.kind = POLICY_EVENT_JOB_ESTIMATED,
                                         .job = job->number.low,
                                         .device_time_ns = expected_ns});
}

void control_job_submit(ControlJob *job, PolicyPlace place, uint64_t device, uint64_t live_bytes) {
    job->demanded = device;
    control_post_event(job->control, (PolicyEvent){.kind = POLICY_EVENT_JOB_SUBMITTED,
                                         .job = job->number.low,
                                         .tenant = (uint64_t)job->tenant,
                                         .model = job->model->key.low,
                                         .class_ = (uint64_t)job->priority,
                                         .weight = job->policy.weight,
                                         .deadline_ns = deadline_ns(job),
                                         .device = device,
                                         .constant_bytes = job->model->constant_bytes,
                                         .bytes = live_bytes,
                                         .place = (uint64_t)place});
    estimate(job);
}
