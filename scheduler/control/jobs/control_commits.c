#include "scheduler/control/jobs/control_commits.h"

#include <math.h>
#include <stdio.h>

#include "base/allocator.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/jobs/control_receivers.h"
#include "scheduler/control/jobs/control_status.h"
#include "scheduler/control/jobs/control_tellings.h"
#include "scheduler/control/jobs/control_waiters.h"
#include "scheduler/control/jobs/job_reports.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/control_orders.h"
#include "scheduler/control/state/control_shared.h"
#include "scheduler/control/state/control_steps.h"

/* A commit that has no room is tried again after so long, each time twice as long: it packs all its
 * outputs anew. */
static const uint64_t RETRY_NS_MIN = 500000000, RETRY_NS_MAX = 8000000000;

static void commit_free(StoreCommit *commit) {
    control_outputs_deinit(&commit->outputs);
    pending_snapshot_deinit(&commit->snapshot);
    error_free(commit->error);
    memory_free(commit->why);
    control_tellings_free(commit->tellings);
    memory_free(commit);
}

/* Puts the data of a failed commit back, in front of the data that came since. */
static void take_back(ControlJob *job, StoreCommit *commit) {
    ControlOutputs newer = job->pending.outputs;
    job->pending.outputs = commit->outputs;
    commit->outputs = (ControlOutputs){0};
    control_outputs_append(&job->pending.outputs, &newer);
    if (!pending_snapshot_is_there(&job->pending.snapshot)) {
        job->pending.snapshot = commit->snapshot;
        commit->snapshot = (PendingSnapshot){0};
    }
    JobTelling **end = &commit->tellings;
    while (*end) end = &(*end)->next;
    *end = job->pending.tellings;
    job->pending.tellings = TAKE(commit->tellings);
    if (commit->state != JOB_STATE_NONE && job->pending.next.state == JOB_STATE_NONE) {
        job->pending.next.state = commit->state; /* and it is not tried again at once */
        job->pending.next.why = TAKE(commit->why);
        job->pending.next.epoch = commit->new_epoch;
    }
}

/* A job whose data has no room stops where it is: it would only make more of it. What has ended
 * waits until its end can be stored. */
static bool halt(ControlJob *job, const Error *error) {
    TextBuilder OWN_TEXT(why) = {0};
    if (job->asked.halt_why || job->pending.next.state != JOB_STATE_NONE || !job->known)
        return false;
    text_appendf(&why, "its data could not be stored: %s; resume it when there is room",
        error_message(error));
    error_free(
        text_builder_take(&why, &job->asked.halt_why)); /* without memory it is tried again */
    if (!job->asked.halt_why) return false;
    control_report(job, POLICY_EVENT_SUSPEND_REQUESTED);
    return true;
}

/* Whoever waits holds a thread of the HTTP server. A cancellation that has not been tried yet waits
 * for its own commit; one that was is told, and stays wanted. */
static void answer_stalled(ControlJob *job, const Error *error) {
    if (job->pending.next.state != JOB_STATE_CANCELLED) {
        control_answer_stalled(job, error);
        return;
    }
    Error *told = error_wrap(error_copy(error), "it stops, and is cancelled when there is room");
    control_answer_waiters(job, told);
    error_free(told);
}

static void stall(ControlJob *job, const Error *error) {
    Control *control = job->control;
    control_step_storing(job, JOB_STORING_EVENT_NO_ROOM);
    if (halt(job, error) || job->asked.goal.state == JOB_GOAL_RESUMING)
        control_step_goal(job, JOB_GOAL_EVENT_STALL);
    control_count(control, METRIC_COMMITS_STALLED, 0, 1);
    if (job->asked.goal.state == JOB_GOAL_CANCELLING) control_give_up_move(job);
    control->commits->retry_after_ns *= 2;
    if (control->commits->retry_after_ns < RETRY_NS_MIN)
        control->commits->retry_after_ns = RETRY_NS_MIN;
    if (control->commits->retry_after_ns > RETRY_NS_MAX)
        control->commits->retry_after_ns = RETRY_NS_MAX;
    if (!control->commits->retry_ns)
        control->commits->retry_ns = control_now_ns(control) + control->commits->retry_after_ns;
    control_set_waiting(job, "waits until its data can be stored: ", error);
    answer_stalled(job, error);
}

/* A cancellation does not wait for room for what the job made last. Returns true if the commit of a
 * cancelled job that found no room is to be made again at once: without the outputs and the
 * snapshot that it had, or with the cancellation, which was asked for while it was under way. */
static bool drop_for_end(ControlJob *job, const StoreCommit *commit) {
    if (job->pending.next.state != JOB_STATE_CANCELLED) return false;
    const bool holds_nothing =
        !job->pending.outputs.count && !pending_snapshot_is_there(&job->pending.snapshot);
    if (holds_nothing && commit->state == JOB_STATE_CANCELLED) return false; /* this had no room */
    control_outputs_deinit(&job->pending.outputs);
    control_job_drop_snapshot(job);
    control_step_storing(job, JOB_STORING_EVENT_NO_ROOM_DROPPED);
    return true;
}

/* The policy lets its device go; what it made is not stored, since that is what fails. Where not
 * even its end can be stored, this process forgets it: the next one finds it as it is. */
static void give_up(ControlJob *job, const StoreCommit *commit) {
    char text[JOB_WHY_SIZE + 64], name[JOB_ID_TEXT_SIZE];
    const Control *control = job->control;
    if (job->asked.goal.state != JOB_GOAL_BROKEN && job->known)
        control_report(job, POLICY_EVENT_CANCEL_REQUESTED);
    control_step_goal(job, JOB_GOAL_EVENT_GIVE_UP);
    control_outputs_deinit(&job->pending.outputs);
    control_job_drop_snapshot(job);
    if (commit->state != JOB_STATE_FAILED) {
        control_want_state(job, JOB_STATE_FAILED, error_message(commit->error));
        return;
    }
    control_step_storing(job, JOB_STORING_EVENT_FORGET);
    job_id_print(job->id, name);
    (void)snprintf(text, sizeof text, "job %s does not run, and its end cannot be stored: %s", name,
        error_message(commit->error));
    if (control->options.warn) control->options.warn(NULL, text);
}

/* A full disk or quota may pass; any other error means that the job's row is damaged. */
static void handle_failure(ControlJob *job, StoreCommit *commit) {
    Control *control = job->control;
    Error *fatal = control->ports.store.check(control->ports.store.self);
    if (error_code(commit->error) != ERROR_EXHAUSTED || fatal)
        control_step_storing(job, JOB_STORING_EVENT_COMMIT_FAILED);
    if (fatal) {
        control_fail(control, fatal);
        return;
    }
    if (pending_snapshot_is_on_device(&commit->snapshot) &&
        error_code(commit->error) == ERROR_DEVICE_LOST) {
        const uint32_t device = pending_snapshot_device(&commit->snapshot);
        pending_snapshot_deinit(&commit->snapshot); /* the rest is here */
        job->pending.checkpoint_wanted = true;      /* whoever waits for it gets the next one */
        take_back(job, commit);
        /* the policy learns of the move with the device */
        if (commit->moving) control_step_site(job, JOB_SITE_EVENT_MOVE_FAILED);
        control_lose_device(control, device);
        return;
    }
    if (error_code(commit->error) == ERROR_EXHAUSTED) {
        take_back(job, commit);
        if (drop_for_end(job, commit)) {
            if (commit->moving)
                control_fail_move(job); /* until told, the policy counts the device bytes */
            return;
        }
        stall(job, commit->error);
        return;
    }
    control_answer_waiters(job, commit->error);
    control_step_goal(job, JOB_GOAL_EVENT_STORE_FAILED);
    if (commit->moving) control_fail_move(job);
    if (job->pending.stored == JOB_STATE_QUEUED) give_up(job, commit);
}

/* Somebody cancelled it, or gave it away, while something else was being stored: the policy is not
 * to hear of it again. */
static bool is_to_end(const ControlJob *job) {
    const JobState next = job->pending.next.state;
    return next != JOB_STATE_NONE && !job_state_is_unfinished(next);
}

static void drop_wanted(ControlJob *job) {
    job->pending.next.state = JOB_STATE_NONE;
    memory_free(job->pending.next.why);
    job->pending.next.why = NULL;
}

/* A suspended job's data, which had no room, is stored, and somebody resumed the job meanwhile: no
 * state is about to be stored that would carry the resume on. */
static bool is_resumed_at_rest(const ControlJob *job) {
    return job->asked.goal.state == JOB_GOAL_RESUMING &&
           job->pending.stored == JOB_STATE_SUSPENDED && job->pending.next.state == JOB_STATE_NONE;
}

static void handle_success(ControlJob *job, StoreCommit *commit) {
    Control *control = job->control;
    uint64_t now_ns = control_now_ns(job->control);
    const bool ended = commit->state != JOB_STATE_NONE && !job_state_is_unfinished(commit->state);
    control_step_storing(job, ended ? JOB_STORING_EVENT_STORED_END : JOB_STORING_EVENT_COMMITTED);
    control->commits->retry_after_ns = 0;
    control_set_waiting(job, "", NULL);
    if (pending_snapshot_is_there(&commit->snapshot)) {
        control_step_durable(job, JOB_DURABLE_EVENT_CHECKPOINTED);
        control_observe(control, METRIC_CHECKPOINT_SECONDS, commit->start_ns, now_ns);
        control_count(control, METRIC_CHECKPOINT_BYTES, 0, (int64_t)commit->checkpoint_bytes);
        control_report_known(job, POLICY_EVENT_CHECKPOINTED);
        control_answer_checkpoint(job, commit->moving ? UINT64_MAX : commit->snapshot.taken_ns);
    }
    if (commit->moving) {
        control_step_site(job, JOB_SITE_EVENT_STORED);
        control_job_close(job);
        control_report_moved(job, POLICY_EVENT_MOVED_OUT, true);
    }
    if (commit->new_epoch) job->pending.epoch = commit->new_epoch;
    if (commit->state == JOB_STATE_NONE) {
        if (!is_resumed_at_rest(job)) return;
        control_step_goal(job, JOB_GOAL_EVENT_SETTLED);
        control_want_state(job, JOB_STATE_QUEUED, NULL);
        return;
    }
    job->pending.stored = commit->state;
    const bool resumes =
        commit->state == JOB_STATE_SUSPENDED && job->asked.goal.state == JOB_GOAL_RESUMING;
    if (job->pending.next.state == commit->state)
        drop_wanted(job); /* asked for once more meanwhile */
    if (commit->state == JOB_STATE_SUSPENDED || commit->state == JOB_STATE_QUEUED) {
        control_step_goal(job, JOB_GOAL_EVENT_SETTLED);
        memory_free(job->asked.halt_why);
        job->asked.halt_why = NULL;
    }
    if (commit->state == JOB_STATE_SUSPENDED)
        control_observe(control, METRIC_SUSPEND_SECONDS, job->asked.suspend_asked_ns, now_ns);
    job->asked.suspend_asked_ns = 0;
    /* who is answered finds it counted */
    if (ended && !job->transient) control_count_end(control, commit->state);
    if (resumes) { /* that it was halted is stored: whoever resumed it waits on */
        control_want_state(job, JOB_STATE_QUEUED, NULL);
        return;
    }
    if (ended) control_update_status(job); /* and the tenant's counts right, too */
    if (ended && job->transient) control_receive_end(job, commit);
    control_answer_state(job);
    if (commit->state == JOB_STATE_QUEUED && !is_to_end(job)) control_job_submit_again(job);
}

/* Tells the policy if enough outputs of a blocked job are stored. */
static void unblock(ControlJob *job) {
    if (!job->slice.blocked || control_job_has_many_outputs(job)) return;
    job->slice.blocked = false;
    control_report_known(job, POLICY_EVENT_UNBLOCKED);
}

static void handle_done(Control *control, StoreCommit *commit) {
    ControlJob *job = commit->job;
    control_end_order(control);
    if (pending_snapshot_is_on_device(&commit->snapshot))
        control_end_use(control, pending_snapshot_device(&commit->snapshot));
    job->pending.under_way = (ControlOutputs){0};
    if (commit->error)
        handle_failure(job, commit);
    else
        handle_success(job, commit);
    commit_free(commit);
    if (!job_storing_is_stalled(&job->pending.storing)) control_commit(job);
    unblock(job);
    control_update_status(job);
    control_job_settle(job);
}

/* Returns true if the job moves to disk by this commit, with a snapshot of where it is now; the job
 * does not run meanwhile. A job of which there can be no snapshot stays where it is. */
static bool begin_move(ControlJob *job) {
    if (!job_site_is_leaving_to_disk(&job->site)) return false;
    if (job->site.state == JOB_SITE_UNPLACING) { /* there is nothing to store */
        control_step_site(job, JOB_SITE_EVENT_STORED);
        control_report_moved(job, POLICY_EVENT_MOVED_OUT, true);
        return false;
    }
    if (job->transient) { /* it stays in memory */
        control_fail_move(job);
        return false;
    }
    Error *error = control_job_take_snapshot(job);
    if (!error) return true;
    error_free(error);
    control_fail_move(job);
    return false;
}

static bool has_work(const ControlJob *job) {
    const bool stalled = job_storing_is_stalled(&job->pending.storing);
    if (job->transient) /* its outputs wait for its end */
        return job->pending.next.state != JOB_STATE_NONE || job_site_is_leaving_to_disk(&job->site);
    if (stalled && job->pending.next.state != JOB_STATE_CANCELLED &&
        !control_life_drains(&job->control->life))
        return false; /* until it is tried again */
    return job->pending.outputs.count > 0 || pending_snapshot_is_there(&job->pending.snapshot) ||
           job->pending.next.state != JOB_STATE_NONE || job_site_is_leaving_to_disk(&job->site) ||
           job->pending.tellings;
}

/* Called when the store does not accept the order of a commit. */
static void fail_commit(Control *control, StoreCommit *owned_commit, Error *owned_error) {
    control_end_order(control);
    if (pending_snapshot_is_on_device(&owned_commit->snapshot))
        control_end_use(control, pending_snapshot_device(&owned_commit->snapshot));
    control_step_storing(owned_commit->job, JOB_STORING_EVENT_COMMIT_FAILED);
    commit_free(owned_commit);
    control_fail(control, owned_error);
}

static void handle_passed(void *context, Message *message) {
    handle_done(context, (StoreCommit *)message);
}

/* The commit of a transient job: done without the store, but as late as a stored one. */
static void pass(Control *control, StoreCommit *commit) {
    const ControlMailbox *mailbox = &control->ports.mailbox;
    commit->message.handle = handle_passed;
    mailbox->post(mailbox->self, &commit->message);
}

void control_commit(ControlJob *job) {
    Control *control = job->control;
    void *memory;
    if (!control_life_commits(&control->life) ||
        !job_storing_allows_commit(&job->pending.storing) || !has_work(job))
        return;
    const bool moving = begin_move(job);
    if (!has_work(job)) return;
    Error *error = memory_alloc(1, sizeof(StoreCommit), &memory);
    if (error) {
        control_fail(control, error);
        return;
    }
    StoreCommit *commit = memory;
    commit->done = handle_done;
    commit->job = job;
    commit->tenant = job->tenant;
    commit->id = job->id;
    commit->checkpoints_kept = (int64_t)job->policy.checkpoint_keep;
    commit->moving = moving;
    commit->outputs = job->pending.outputs;
    job->pending.outputs = (ControlOutputs){0};
    job->pending.under_way =
        (ControlOutputs){.count = commit->outputs.count, .bytes = commit->outputs.bytes};
    commit->snapshot = job->pending.snapshot;
    job->pending.snapshot = (PendingSnapshot){0};
    if (pending_snapshot_is_on_device(&commit->snapshot))
        control_begin_use(control, pending_snapshot_device(&commit->snapshot));
    if (moving) control_tell_moved_out(job, "to disk");
    commit->tellings = TAKE(job->pending.tellings);
    commit->state = job->pending.next.state;
    job->pending.next.state = JOB_STATE_NONE;
    commit->why = TAKE(job->pending.next.why);
    commit->epoch = job->pending.epoch;
    commit->new_epoch = commit->state != JOB_STATE_NONE ? job->pending.next.epoch : 0;
    if (commit->new_epoch) job->pending.next.epoch = 0;
    commit->start_ns = control_now_ns(control);
    commit->device_seconds =
        job->account.device_seconds_before + (double)job->account.device_ns * 1e-9;
    commit->started = job->account.started;
    if (!isnan(job->account.started))
        (void)snprintf(commit->device, sizeof commit->device, "%s",
            control_device_facts(control, job->site.device)->name);
    control_step_storing(job, JOB_STORING_EVENT_COMMIT);
    control_begin_order(control);
    if (job->transient)
        pass(control, commit);
    else
        error = control->ports.store.commit(control->ports.store.self, commit);
    if (error) fail_commit(control, commit, error);
}

void control_want_state(ControlJob *job, JobState state, const char *why) {
    drop_wanted(job);
    job->pending.next.state = state;
    if (why)
        error_free(
            memory_copy_text(why, &job->pending.next.why)); /* without memory it has no reason */
    control_commit(job);
}

void control_retry_commits(Control *control, uint64_t now_ns) {
    if (!control->commits->retry_ns || now_ns < control->commits->retry_ns) return;
    control->commits->retry_ns = 0;
    size_t at = 0;
    for (ControlJob *job; (job = control_jobs_next(control, &at));) {
        if (!job_storing_is_stalled(&job->pending.storing)) continue;
        control_step_storing(job, JOB_STORING_EVENT_RETRY);
        control_commit(job);
    }
}

uint64_t control_retry_due_ns(const Control *control) { return control->commits->retry_ns; }
