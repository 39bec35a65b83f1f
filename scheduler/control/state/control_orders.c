#include "scheduler/control/state/control_orders.h"

#include "base/allocator.h"
#include "scheduler/control/state/control_shared.h"
#include "scheduler/control/state/control_tenants.h"
#include "scheduler/control/state/job_models.h"

void control_begin_order(Control *control) { control->orders->in_flight++; }

void control_end_order(Control *control) { control->orders->in_flight--; }

bool control_has_orders(const Control *control) { return control->orders->in_flight > 0; }

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
    control_begin_order(control);
    error = executor->post(executor->self, task);
    if (!error) return;
    control_end_order(control);
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
