#include "base/container_of.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/slices/control_aside.h"
#include "scheduler/control/state/control_internal.h"

/* Slices that do not give their device back when they are asked to: their kernel takes long. The
 * kernel pauses where it is, or runs on for a moment if it does not look at the stop; either way
 * the slice is set aside with its thread. For the policy it is over, and the device another job's.
 *
 *   running --(asked to end, a kernel pauses or GIVE_UP_NS are over)--> aside --RUN--> running
 *                                                                         |
 *                                MOVE_OUT: the kernel is abandoned, the slice ends, the job moves
 *
 * Nothing of a job that is aside may be touched: its thread may be anywhere. */

/* A slice has so long to come to a safepoint before its kernel pauses, and before it is set aside
 * wherever it is. */
static const uint64_t PAUSE_NS = 5000000, GIVE_UP_NS = 40000000;
/* Whom others' memory displaces loses what its kernel did. It may run on for so long beside them
 * first, each time twice as long, so that it comes to an end some time. */
static const uint64_t PATIENCE_NS = 200000000, PATIENCE_NS_MAX = 60000000000;

void control_ask_for_device(ControlJob *job) {
    const uint64_t now_ns = control_now_ns(job->control);
    control_request_slice(job, EXECUTOR_PAUSE, now_ns + PAUSE_NS);
    job->control->devices.items[job->site.device].slice.give_up_ns = now_ns + GIVE_UP_NS;
    job->control->slice_end_asked = true;
}

void control_note_holder(ControlJob *job) {
    ControlDevice *device = &job->control->devices.items[job->site.device];
    if (device->slice.holder == job->number.low) return;
    device->slice.holder = job->number.low;
    device->slice.held_since_ns = control_now_ns(job->control);
}

uint64_t control_slice_ns(const ControlJob *job) {
    const WorkerSlice *slice = &job->hold.slice;
    const uint64_t end_ns = slice->start_ns + slice->device_time_ns;
    if (job->slice.resumed_ns <= slice->start_ns) return slice->device_time_ns;
    return end_ns > job->slice.resumed_ns ? end_ns - job->slice.resumed_ns : 0;
}

static void set_aside(ControlJob *job) {
    Control *control = job->control;
    ControlDevice *device = &control->devices.items[job->site.device];
    const uint64_t now_ns = control_now_ns(job->control);
    control->ports.executor.set_aside(control->ports.executor.self, job->site.device);
    control_step_site(job, JOB_SITE_EVENT_SET_ASIDE);
    control->devices.aside_count++;
    device->in_flight++;
    control_end_slice(job, POLICY_OUTCOME_SLICE_ENDED, now_ns - job->slice.resumed_ns, 0);
    job->slice.resumed_ns = now_ns;
    control_count(control, METRIC_SLICES_SET_ASIDE, 0, 1);
    control_update_status(job);
}

static void lose_patience(ControlJob *job) {
    if (job->slice.abandon_ns) job->control->devices.patience_count--;
    job->slice.abandon_ns = 0;
}

static void take_back(ControlJob *job, JobSiteEvent event) {
    control_step_site(job, event);
    lose_patience(job);
    job->control->devices.aside_count--;
    job->control->devices.items[job->site.device].in_flight--;
}

static void handle_paused(void *context, Message *message) {
    (void)context;
    ControlJob *job = CONTAINER_OF(message, ControlJob, hold.paused);
    atomic_store(&job->hold.pause_told, false);
    if (job->site.state == JOB_SITE_RUNNING) set_aside(job);
}

void control_watch_pauses(ControlJob *job) { job->hold.paused.handle = handle_paused; }

void control_run_aside(ControlJob *job, uint64_t budget_ns) {
    Control *control = job->control;
    ControlDevice *device = &control->devices.items[job->site.device];
    take_back(job, JOB_SITE_EVENT_RUN_BEGINS);
    job->slice.resumed_ns = control_now_ns(job->control);
    (void)pthread_mutex_lock(&control->status_mutex);
    device->slice.running = job;
    (void)pthread_mutex_unlock(&control->status_mutex);
    device->slice.end_ns = budget_ns ? job->slice.resumed_ns + budget_ns : 0;
    device->slice.give_up_ns = 0;
    control_note_holder(job);
    control_request_slice(job, EXECUTOR_RESUME, 0);
    control_update_status(job);
}

void control_move_aside_out(ControlJob *job, PolicyPlace place) {
    control_step_site(job,
        place == POLICY_PLACE_HOST ? JOB_SITE_EVENT_LEAVE_TO_HOST : JOB_SITE_EVENT_LEAVE_TO_DISK);
    if (job->asked.suspend_asked_ns || job->pending.checkpoint_wanted ||
        place == POLICY_PLACE_DISK) {
        control_request_slice(job, EXECUTOR_ABANDON, 0);
        return;
    }
    uint64_t patience_ns = PATIENCE_NS
                           << (job->slice.abandonments < 16 ? job->slice.abandonments : 16);
    if (patience_ns > PATIENCE_NS_MAX) patience_ns = PATIENCE_NS_MAX;
    job->slice.abandonments++;
    job->control->devices.patience_count++;
    job->slice.abandon_ns = control_now_ns(job->control) + patience_ns;
    control_request_slice(job, EXECUTOR_RESUME, 0);
}

void control_discard_slice(ControlJob *job) {
    if (job_site_has_slice(&job->site)) control_request_slice(job, EXECUTOR_DISCARD, 0);
}

/* The slice of a job that is aside has ended after all. An error waits until the policy runs it. */
bool control_end_aside(ControlJob *job) {
    if (!job_site_is_aside(&job->site)) return false;
    const uint8_t was = job->site.state;
    WorkerSlice *slice = &job->hold.slice;
    if (error_code(slice->error) == ERROR_DEVICE_LOST)
        control_lose_device(job->control, job->site.device);
    const bool failed = slice->error && error_code(slice->error) != ERROR_DEVICE_LOST;
    if (slice->error && (!failed || job_goal_info(&job->asked.goal)->discards_slice ||
                            job_storing_has_ended(&job->pending.storing) || !job->known)) {
        error_free(slice->error);
        slice->error = NULL;
    }
    take_back(job, slice->error ? JOB_SITE_EVENT_SLICE_FAILED : JOB_SITE_EVENT_SLICE_ENDED);
    if (was == JOB_SITE_ASIDE) return true;
    if (slice->error)
        control_post_event(
            job->control, (PolicyEvent){.kind = POLICY_EVENT_MOVED_OUT, .job = job->number.low});
    else if (job->known)
        control_move_out(job, job->site.device,
            was == JOB_SITE_ASIDE_TO_HOST ? POLICY_PLACE_HOST : POLICY_PLACE_DISK);
    return true;
}

void control_stop_slices(Control *control, bool discard) {
    for (size_t i = 0; i < control->jobs.by_number.capacity; i++) {
        ControlJob *job = (ControlJob *)control->jobs.by_number.slots[i];
        if (!job || !job_site_has_slice(&job->site)) continue;
        if (discard)
            control_request_slice(job, EXECUTOR_DISCARD, 0);
        else
            control_request_slice(job, EXECUTOR_ABANDON, 0);
    }
}

bool control_run_failed(ControlJob *job) {
    if (job->site.state != JOB_SITE_FAILED_ASIDE) return false;
    control_step_site(job, JOB_SITE_EVENT_RUN_BEGINS);
    job->hold.slice.start_ns = job->slice.resumed_ns = control_now_ns(job->control);
    job->hold.slice.device_time_ns = 0;
    (void)pthread_mutex_lock(&job->control->status_mutex);
    job->control->devices.items[job->site.device].slice.running = job;
    (void)pthread_mutex_unlock(&job->control->status_mutex);
    control_post(job->control, &job->hold.slice_ended);
    return true;
}

static uint64_t earlier(uint64_t a, uint64_t b) { return a && (!b || a < b) ? a : b; }

uint64_t control_aside_due_ns(const Control *control) {
    uint64_t due_ns = 0;
    for (uint32_t i = 0; i < control->devices.count; i++)
        if (control->devices.items[i].slice.running)
            due_ns = earlier(control->devices.items[i].slice.give_up_ns, due_ns);
    for (size_t i = 0; control->devices.patience_count > 0 && i < control->jobs.by_number.capacity;
         i++) {
        const ControlJob *job = (const ControlJob *)control->jobs.by_number.slots[i];
        if (job && job_site_is_aside(&job->site)) due_ns = earlier(job->slice.abandon_ns, due_ns);
    }
    return due_ns;
}

void control_set_due_aside(Control *control, uint64_t now_ns) {
    for (uint32_t i = 0; i < control->devices.count; i++) {
        ControlDevice *device = &control->devices.items[i];
        if (!device->slice.running || !device->slice.give_up_ns ||
            now_ns < device->slice.give_up_ns)
            continue;
        device->slice.give_up_ns = 0;
        set_aside(device->slice.running);
    }
    for (size_t i = 0; control->devices.patience_count > 0 && i < control->jobs.by_number.capacity;
         i++) {
        ControlJob *job = (ControlJob *)control->jobs.by_number.slots[i];
        if (!job || !job_site_is_aside(&job->site)) continue;
        if (!job->slice.abandon_ns || now_ns < job->slice.abandon_ns) continue;
        lose_patience(job);
        control_request_slice(job, EXECUTOR_ABANDON, 0);
    }
}

/* ---- requests that wait for a kernel ---- */

/* Who suspends a job or wants a checkpoint has an answer by then, whatever runs. */
static const uint64_t LATE_NS = 800000000;

void control_note_wait(ControlJob *job, ControlRequest *request) {
    Control *control = job->control;
    request->asked_ns = control_now_ns(control);
    if (request->kind == CONTROL_SUSPEND || request->kind == CONTROL_CHECKPOINT)
        control->late_ns = earlier(request->asked_ns + LATE_NS, control->late_ns);
}

static Error *fail_late(ControlJob *job, ControlRequestKind kind) {
    const LongKernel kernel = control_job_get_kernel(job);
    const uint64_t ns = kernel.name ? kernel.computed_ns : LATE_NS;
    FAIL(EXHAUSTED,
        "the job's kernel%s%s has computed for %.1f s, and there is no safepoint inside: %s",
        kernel.name ? " " : "", kernel.name ? kernel.name : "", (double)ns * 1e-9,
        kind == CONTROL_SUSPEND
            ? "the job is suspended when it ends"
            : "the checkpoint is taken when it ends, or now if you suspend the job");
}

/* True: others wait on. */
static bool answer_late(ControlJob *job, uint64_t now_ns) {
    ControlRequest **link = &job->asked.waiters, *request;
    bool wait = false;
    while ((request = *link)) {
        const ControlRequestKind kind = request->kind;
        const bool waits = kind == CONTROL_SUSPEND || kind == CONTROL_CHECKPOINT;
        if (!waits || !job_site_has_slice(&job->site) || now_ns < request->asked_ns + LATE_NS) {
            wait |= waits;
            link = &request->next;
            continue;
        }
        *link = request->next;
        control_answer(request, fail_late(job, kind));
    }
    return wait;
}

void control_answer_late(Control *control, uint64_t now_ns) {
    bool wait = false;
    if (!control->late_ns || now_ns < control->late_ns) return;
    for (size_t i = 0; i < control->jobs.by_number.capacity; i++) {
        ControlJob *job = (ControlJob *)control->jobs.by_number.slots[i];
        if (job && job->asked.waiters) wait |= answer_late(job, now_ns);
    }
    /* what is being written takes its time; soon enough for those that came later */
    control->late_ns = wait ? now_ns + LATE_NS / 8 : 0;
}
