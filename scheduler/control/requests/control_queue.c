#include "scheduler/control/requests/control_queue.h"

#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/slices/control_decisions.h"
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/control_tenants.h"
#include "scheduler/control/state/policy_driver.h"
#include "scheduler/node/refusal_text.h"

Error *control_fail_refused(const PolicyAction *refusal) {
    char text[REFUSAL_TEXT_SIZE];
    refusal_text_print(refusal, text);
    if (refusal->reason == POLICY_REASON_NO_DEVICE) FAIL(NOT_FOUND, "%s", text);
    FAIL(EXHAUSTED, "%s", text);
}

/* Called when a tenant's queue looks full. Submits a job without model and memory, which the policy
 * refuses, so that the event log records each refusal. */
Error *control_check_place(Control *control, TenantId tenant) {
    PolicyUsage usage = {0};
    ControlJob *job;
    TRY(control_tell_tenant(control, tenant));
    control_apply_events(control);
    TRY(control_check(control));
    const ControlTenant *known = control_find_tenant(control, tenant);
    (void)policy_find_usage(control_get_policy(control), (uint64_t)tenant, &usage);
    if (usage.queued_jobs < known->told.queued_jobs) return NULL;
    TRY(control_job_create(control, &job));
    job->tenant = tenant;
    control_step_storing(job, JOB_STORING_EVENT_FORGET);
    control_post_event(control, (PolicyEvent){.kind = POLICY_EVENT_JOB_SUBMITTED,
                                    .job = job->number.low,
                                    .tenant = (uint64_t)tenant,
                                    .class_ = POLICY_NORMAL,
                                    .weight = 1,
                                    .device = POLICY_NO_DEVICE});
    control_apply_events(control);
    PolicyAction refusal = job->refusal;
    control_job_settle(job);
    TRY(control_check(control));
    return control_fail_refused(&refusal);
}
