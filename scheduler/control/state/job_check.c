#include "scheduler/control/state/job_check.h"

#include "scheduler/control/state/control_state.h"
#include "scheduler/control/state/device_table.h"

static bool is_new(const ControlJob *job) { return job_storing_is_new(&job->pending.storing); }

static bool has_ended(const ControlJob *job) {
    return job_storing_has_ended(&job->pending.storing);
}

static bool is_on_closed(const ControlJob *job, uint32_t device) {
    const DevicePresence *presence = &job->control->devices->items[device].presence;
    return presence->state != DEVICE_PRESENCE_PRESENT && presence->state != DEVICE_PRESENCE_LOST;
}

/* ---- storing ---- */

static bool new_has_row(const ControlJob *job) {
    return is_new(job) && job->pending.stored != JOB_STATE_NONE;
}

static bool rowless_is_stored(const ControlJob *job) {
    return job->pending.stored == JOB_STATE_NONE && !is_new(job) && !has_ended(job);
}

static bool new_is_asked(const ControlJob *job) {
    return is_new(job) && job->asked.goal.state != JOB_GOAL_RUN;
}

static bool new_enters_from_disk(const ControlJob *job) {
    return is_new(job) && job->site.state == JOB_SITE_ENTERING_FROM_DISK;
}

static bool end_goes_on(const ControlJob *job) {
    return job->pending.stored != JOB_STATE_NONE && !job_state_is_unfinished(job->pending.stored) &&
           !has_ended(job);
}

static bool ended_stays(const ControlJob *job) {
    return has_ended(job) && !job_site_is_running(&job->site) && !job_site_is_busy(&job->site) &&
           !job->known; /* the policy's RELEASE is to come, or never comes since a drain began */
}

/* ---- site ---- */

static bool stranger_runs(const ControlJob *job) {
    const JobState next = job->pending.next.state;
    const bool ends = has_ended(job) ||
                      (next != JOB_STATE_NONE && !job_state_is_unfinished(next)) ||
                      job_storing_is_committing(&job->pending.storing);
    return job_site_has_slice(&job->site) && !job->known && !ends;
}

static bool move_is_forgotten(const ControlJob *job) {
    return job_site_is_leaving_to_disk(&job->site) &&
           job->pending.storing.state == JOB_STORING_STORED &&
           control_life_commits(&job->control->life);
}

static bool ended_moves_to_disk(const ControlJob *job) {
    return has_ended(job) && job->known && job_site_is_leaving_to_disk(&job->site) &&
           control_life_decides(&job->control->life);
}

static bool is_on_closed_device(const ControlJob *job) {
    return job_site_is_on(&job->site, job->site.device) && is_on_closed(job, job->site.device);
}

static bool snapshot_is_on_closed_device(const ControlJob *job) {
    const PendingSnapshot *snapshot = &job->pending.snapshot;
    return pending_snapshot_is_on_device(snapshot) &&
           is_on_closed(job, pending_snapshot_device(snapshot));
}

static bool is_blocked_without_run(const ControlJob *job) {
    return job->slice.blocked && !job_site_is_open(&job->site) &&
           job->pending.stored == JOB_STATE_QUEUED &&
           !job_storing_is_stalled(&job->pending.storing) &&
           !job_storing_is_committing(&job->pending.storing);
}

/* ---- goal ---- */

static bool frozen_runs(const ControlJob *job) {
    return job_goal_is_leaving(&job->asked.goal) &&
           (job_site_is_running(&job->site) || job->pending.stored == JOB_STATE_QUEUED);
}

static bool held_runs(const ControlJob *job) {
    return job_goal_is_departing(&job->asked.goal) && job->pending.stored == JOB_STATE_HELD &&
           job_site_is_running(&job->site);
}

static bool cancellation_is_forgotten(const ControlJob *job) {
    return job->asked.goal.state == JOB_GOAL_CANCELLING && !has_ended(job) &&
           job->pending.next.state == JOB_STATE_NONE &&
           !job_storing_is_committing(&job->pending.storing);
}

static const struct Rule {
    bool (*is_broken)(const ControlJob *job);
    const char *what;
} rules[] = {
    {new_has_row, "storing is NEW, and a state is stored"},
    {rowless_is_stored, "no state is stored, and storing is neither NEW nor ENDED"},
    {new_is_asked, "storing is NEW, and the goal is not RUN"},
    {new_enters_from_disk, "storing is NEW, and the site is ENTERING_FROM_DISK"},
    {end_goes_on, "an end is stored, and storing is not ENDED"},
    {ended_stays, "storing is ENDED, no thread needs the job, and the job is not freed"},
    {stranger_runs,
        "a slice is there of a job that the policy does not know and that does not end"},
    {move_is_forgotten, "the job leaves to disk, and no commit is under way or waits"},
    {ended_moves_to_disk, "storing is ENDED, and the policy waits for a move to disk"},
    {is_on_closed_device, "the site is on a device that is closed"},
    {snapshot_is_on_closed_device, "a snapshot is in the memory of a device that is closed"},
    {is_blocked_without_run, "the job waits for its outputs to be stored, and there is no run"},
    {frozen_runs, "the goal is FROZEN or RELEASING, and the job is queued or runs"},
    {held_runs, "the goal is to depart and HELD is stored, and the job runs"},
    {cancellation_is_forgotten, "the goal is CANCELLING, and no cancellation is stored or wanted"},
};

Error *control_job_check(const ControlJob *job) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].is_broken(job))
            FAIL(INTERNAL, "job %llu: %s (site %s, storing %s, goal %s, durable %s)",
                (unsigned long long)job->number.low, rules[i].what,
                job_site_machine.states[job->site.state].name,
                job_storing_machine.states[job->pending.storing.state].name,
                job_goal_machine.states[job->asked.goal.state].name,
                job_durable_machine.states[job->pending.durable.state].name);
    return NULL;
}
