#include "scheduler/control/slices/control_decisions.h"

#include <stdio.h>

#include "scheduler/control/jobs/control_commits.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/jobs/control_tellings.h"
#include "scheduler/control/slices/control_moves.h"
#include "scheduler/control/slices/control_slices.h"
#include "scheduler/control/slices/device_slice.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/control_shared.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/policy_driver.h"
#include "scheduler/node/refusal_text.h"

/* Ends or suspends the job with the policy's reason and figures. The last error of an I/O task
 * belongs to the reason RETRIES. */
static void end_by_policy(ControlJob *job, JobState state, const PolicyAction *action) {
    char reason[REFUSAL_TEXT_SIZE], why[JOB_WHY_SIZE];
    refusal_text_print(action, reason);
    const char *last =
        action->reason == POLICY_REASON_RETRIES ? job->account.status.waits_for : NULL;
    (void)snprintf(why, sizeof why, "%s%s%s", reason, last ? ": " : "", last ? last : "");
    control_want_state(job, state, why);
}

/* Called when the policy has suspended the job: stores that it is suspended or held. */
static void rest(ControlJob *job) {
    const JobState rest = job_goal_info(&job->asked.goal)->rest;
    control_step_goal(job, JOB_GOAL_EVENT_RESTED);
    if (rest != JOB_STATE_NONE)
        control_want_state(
            job, rest, rest == JOB_STATE_HELD ? job->asked.depart_why : job->asked.halt_why);
}

void control_leave(ControlJob *job) {
    const JobState leave = job_goal_info(&job->asked.goal)->leave;
    if (leave != JOB_STATE_NONE)
        control_want_state(job, leave, leave == JOB_STATE_MOVED ? job->asked.depart_why : NULL);
}

static void perform_on_job(ControlJob *job, const PolicyAction *action) {
    switch (action->kind) {
    case POLICY_ACTION_ACCEPT:
        job->known = true;
        break;
    case POLICY_ACTION_REFUSE:
        job->refusal = *action;
        if (job->pending.stored != JOB_STATE_NONE) end_by_policy(job, JOB_STATE_SUSPENDED, action);
        break;
    case POLICY_ACTION_FAIL:
        job->known = false;
        control_discard_slice(job);
        end_by_policy(job, JOB_STATE_FAILED, action);
        control_job_settle(job);
        break;
    case POLICY_ACTION_RUN:
        control_run_job(job, (uint32_t)action->device, action->ns);
        break;
    case POLICY_ACTION_PREEMPT:
        control_tell_preempted(job);
        control_preempt_job(job);
        break;
    case POLICY_ACTION_MOVE_OUT:
        control_move_out(job, action->device, action->place);
        break;
    case POLICY_ACTION_MOVE_IN:
        control_move_in(job, (uint32_t)action->device, action->place);
        break;
    case POLICY_ACTION_GRANT:
        job->slice.grant_bytes = action->bytes; /* the next slice has it */
        break;
    case POLICY_ACTION_SUSPENDED:
        rest(job);
        break;
    case POLICY_ACTION_RELEASE:
        job->known = false;
        control_discard_slice(job);
        control_leave(job);
        control_job_settle(job);
        break;
    case POLICY_ACTION_MISSED:
        if (control_tell_missed(job)) control_commit(job);
        break;
    case POLICY_ACTION_PROMISE:
        control_tell_promise(job, action->ns);
        break;
    case POLICY_ACTION_LOAD_WEIGHTS:
    case POLICY_ACTION_EVICT_WEIGHTS:
    case POLICY_ACTION_SET_TIMER:
    case POLICY_ACTION_KIND_COUNT:
        break;
    }
}

/* True: the action concerns a lost device. It is not performed; the policy takes it back when it
 * learns of the loss. */
static bool is_void(const Control *control, const PolicyAction *action) {
    bool on_device =
        action->kind == POLICY_ACTION_RUN || action->kind == POLICY_ACTION_PREEMPT ||
        action->kind == POLICY_ACTION_MOVE_IN || action->kind == POLICY_ACTION_MOVE_OUT ||
        action->kind == POLICY_ACTION_LOAD_WEIGHTS || action->kind == POLICY_ACTION_EVICT_WEIGHTS;
    return on_device && action->device < control_device_count(control) &&
           control_device_is_lost(control, action->device);
}

static void perform(Control *control, const PolicyAction *action) {
    if (is_void(control, action)) return;
    if (action->kind == POLICY_ACTION_SET_TIMER)
        control->driver->timer_ns = action->ns;
    else if (action->kind == POLICY_ACTION_LOAD_WEIGHTS)
        control_load_weights(control, action->model, (uint32_t)action->device);
    else if (action->kind == POLICY_ACTION_EVICT_WEIGHTS)
        control_evict_weights(control, action->model, (uint32_t)action->device);
    else {
        ControlJob *job = control_job_get(control, action->job);
        if (job) perform_on_job(job, action);
    }
}

/* What somebody asks for may come too late: the job has ended, or was asked the same before. Then
 * nothing has changed, and the state that comes first is the answer to whoever waits. */
static bool is_late(Control *control, const PolicyEvent *event, const Error *error) {
    if (error_code(error) != ERROR_CONFLICT && error_code(error) != ERROR_NOT_FOUND) return false;
    ControlJob *job = control_job_get(control, event->job);
    switch ((int)event->kind) {
    case POLICY_EVENT_RESUME_REQUESTED: /* it is stored as queued already */
        if (job) control_want_state(job, JOB_STATE_SUSPENDED, error_message(error));
        return true;
    case POLICY_EVENT_SUSPEND_REQUESTED:
    case POLICY_EVENT_CANCEL_REQUESTED:
    case POLICY_EVENT_CHECKPOINTED:
    case POLICY_EVENT_UNBLOCKED:
    case POLICY_EVENT_JOB_ESTIMATED: /* it was refused */
        return true;
    default:
        return false;
    }
}

void control_apply_events(Control *control) {
    PolicyDriver *driver = control->driver;
    if (!control_life_decides(&control->life)) driver->event_count = 0; /* nothing is decided */
    for (size_t i = 0; i < driver->event_count; i++) {
        const PolicyAction *actions; /* performing one posts events, but applies none */
        size_t count;
        PolicyEvent event = driver->events[i];
        Error *error = policy_apply(driver->policy, &event, &actions, &count);
        if (error && is_late(control, &event, error)) {
            error_free(error);
            continue;
        }
        if (error) {
            control_fail(
                control, error_wrap(error, "event %s", policy_event_infos[event.kind].name));
            break;
        }
        if (control->options.recorder)
            event_recorder_record(
                control->options.recorder, &event, policy_get_digest(driver->policy));
        for (size_t a = 0; a < count; a++) perform(control, &actions[a]);
    }
    driver->event_count = 0;
}
