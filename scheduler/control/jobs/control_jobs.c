#include "scheduler/control/jobs/control_jobs.h"

#include <math.h>

#include "base/allocator.h"
#include "scheduler/control/jobs/control_receivers.h"
#include "scheduler/control/jobs/control_tellings.h"
#include "scheduler/control/jobs/job_reports.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/control_shared.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/job_models.h"

/* Limits on the inputs that waiting jobs keep in memory, in bytes. */
enum { KEPT_EACH_MAX = 64 << 10, KEPT_MAX = 4 << 20, KEPT_OVERHEAD = 1 << 10 };

bool control_job_has_many_outputs(const ControlJob *job) {
    if (job->transient) return false; /* no commit would make them fewer */
    return control_outputs_are_many(job->pending.outputs.count + job->pending.under_way.count,
        job->pending.outputs.bytes + job->pending.under_way.bytes);
}

Error *control_job_create(Control *control, ControlJob **out_job) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ControlJob), &memory));
    ControlJob *job = memory;
    job->number.low = control->jobs->last_number + 1;
    job->control = control;
    job->slice.grant_bytes = UINT64_MAX;
    job->demanded = job->account.status.demanded = POLICY_NO_DEVICE;
    job->account.submitted = control_calendar_s(control);
    job->account.started = NAN;
    job->deadline = NAN;
    job->slice.items_done = job->account.status.items_done = -1;
    Error *error = id_map_add(&control->jobs->by_number, &job->number);
    if (error) {
        memory_free(job);
        return error;
    }
    control->jobs->last_number++;
    *out_job = job;
    return NULL;
}

Error *control_job_name(ControlJob *job, JobId id) {
    Control *control = job->control;
    control_lock(control);
    job->id = id;
    job->name.key = (IdKey){id.node, id.number};
    job->name.job = job;
    Error *error = id_map_add(&control->jobs->by_id, &job->name.key);
    control_unlock(control);
    if (error)
        job->name.job = NULL;
    else
        control_step_storing(job, JOB_STORING_EVENT_ROW_STORED);
    return error;
}

ControlJob *control_job_find(Control *control, TenantId tenant, JobId id) {
    struct ControlJobName *name = id_map_find(&control->jobs->by_id, id.node, id.number);
    return name && name->job->tenant == tenant ? name->job : NULL;
}

ControlJob *control_job_get(const Control *control, uint64_t number) {
    return id_map_find(&control->jobs->by_number, 0, number);
}

ControlJob *control_jobs_next(const Control *control, size_t *inout_at) {
    const IdMap *map = &control->jobs->by_number;
    while (*inout_at < map->capacity) {
        ControlJob *job = (ControlJob *)map->slots[(*inout_at)++];
        if (job) return job;
    }
    return NULL;
}

Error *control_job_set_model(
    ControlJob *job, const Digest *identity, uint64_t constant_bytes, bool device_strings) {
    const ControlModel facts = {
        .key = {0, control_model_number(job->control, job->tenant, identity)},
        .identity = *identity,
        .tenant = job->tenant,
        .constant_bytes = constant_bytes,
        .device_strings = device_strings};
    return control_use_model(job->control, &facts, &job->model);
}

void control_job_keep_inputs(ControlJob *job) {
    Control *control = job->control;
    const ControlExecutorPort *executor = &control->ports.executor;
    ExecutorInputs inputs;
    if (!executor->find_inputs(executor->self, &job->hold, &inputs)) return;
    const uint64_t bytes = inputs.bytes + KEPT_OVERHEAD;
    if (bytes <= KEPT_EACH_MAX && control->jobs->kept_bytes + bytes <= KEPT_MAX) {
        job->kept_bytes = bytes;
        control->jobs->kept_bytes += bytes;
        return;
    }
    executor->drop_inputs(executor->self, &job->hold);
}

void control_job_count_out(ControlJob *job) {
    job->control->jobs->kept_bytes -= job->kept_bytes;
    job->kept_bytes = 0;
}

Error *control_job_take_snapshot(ControlJob *job) {
    const uint32_t index = job->site.device;
    const bool on_device = job_site_is_on(&job->site, index);
    if (job_goal_info(&job->asked.goal)->discards_slice)
        FAIL(CONFLICT, "the job is to end: outputs that it made may be dropped already");
    control_job_drop_snapshot(job);
    if (on_device && control_device_is_lost(job->control, index))
        FAIL(DEVICE_LOST, "%s is lost", control_device_facts(job->control, index)->name);
    const ControlExecutorPort *executor = &job->control->ports.executor;
    TRY(executor->take_snapshot(executor->self, &job->hold, &job->pending.snapshot.state));
    job->pending.snapshot.where = on_device ? 1 + index : PENDING_SNAPSHOT_IN_HOST;
    job->pending.snapshot.taken_ns = control_now_ns(job->control);
    return NULL;
}

void control_job_drop_snapshot(ControlJob *job) { pending_snapshot_deinit(&job->pending.snapshot); }

void control_job_close(ControlJob *job) {
    control_job_count_out(job);
    job->control->ports.executor.close(job->control->ports.executor.self, &job->hold);
}

/* Frees a job and its parts. Nothing may refer to the job. */
static void free_job(ControlJob *job) {
    if (job->receiver)
        control_receive_error(job, error_make(ERROR_UNREACHABLE, __FILE__, __LINE__,
                                       "the daemon stops before the job ends"));
    error_free(job->failure); /* its receiver has got another end */
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
    control_lock(control);
    control_account_phase(job);
    if (job->name.job) id_map_remove(&control->jobs->by_id, &job->name.key);
    if (job->name.job && job->slice.counters.instructions > 0 && !job->transient)
        control_account_ended(job);
    control_unlock(control);
    id_map_remove(&control->jobs->by_number, &job->number);
    if (job->model) job->model->job_count--;
    free_job(job);
}

void job_table_deinit(JobTable *jobs) {
    for (size_t i = 0; i < jobs->by_number.capacity; i++) {
        ControlJob *job = (ControlJob *)jobs->by_number.slots[i];
        if (job) free_job(job);
    }
    id_map_deinit(&jobs->by_number);
    id_map_deinit(&jobs->by_id);
}
