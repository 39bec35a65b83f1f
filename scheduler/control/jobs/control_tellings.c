#include "scheduler/control/jobs/control_tellings.h"

#include "base/allocator.h"
#include "base/duration.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/control_shared.h"
#include "scheduler/control/state/control_state.h"
#include "scheduler/control/state/job_models.h"
#include "scheduler/control/state/policy_driver.h"

/* Upper bound on the events of a job that wait to be stored; further events are dropped. */
enum { TELLINGS_MAX = 16 };

/* A job may be preempted or moved out a hundred times a second. An event tells of it once in this
 * time, with the number of times since the event before. */
#define RARELY_NS (10 * SECOND_NS)

void control_tellings_free(JobTelling *tellings) {
    for (JobTelling *next; tellings; tellings = next) {
        next = tellings->next;
        memory_free(tellings->why);
        memory_free(tellings);
    }
}

/* An event is lost if there is no memory for it or TELLINGS_MAX events wait; the job goes on. */
static void append(ControlJob *job, JobEventKind kind, char *owned_why) {
    JobTelling **end = &job->pending.tellings;
    void *memory = NULL;
    size_t count = job->transient ? TELLINGS_MAX : 0; /* nobody reads a transient job's events */
    for (; *end; end = &(*end)->next) count++;
    if (count < TELLINGS_MAX) error_free(memory_alloc(1, sizeof(JobTelling), &memory));
    if (!memory) {
        memory_free(owned_why);
        return;
    }
    *end = memory;
    **end = (JobTelling){.kind = kind, .why = owned_why};
}

void control_tell(ControlJob *job, JobEventKind kind, const char *words) {
    char *why = NULL;
    error_free(memory_copy_text(words, &why)); /* without memory it is told without words */
    append(job, kind, why);
}

void control_tell_rarely(ControlJob *job, JobEventKind kind, const char *words) {
    ControlRare *rare = &job->pending.rare[kind == JOB_EVENT_PREEMPTED ? 0 : 1];
    uint64_t now_ns = control_now_ns(job->control);
    TextBuilder OWN_TEXT(text) = {0};
    char *why = NULL;
    if (rare->told_ns && now_ns - rare->told_ns < RARELY_NS) {
        rare->untold++;
        return;
    }
    text_append(&text, words);
    if (rare->untold)
        text_appendf(&text, "; %llu times more since the last event that told of it",
            (unsigned long long)rare->untold);
    error_free(text_builder_take(&text, &why)); /* without memory it is told without words */
    *rare = (ControlRare){.told_ns = now_ns};
    append(job, kind, why);
}

void control_tell_moved_out(ControlJob *job, const char *where) {
    TextBuilder OWN_TEXT(text) = {0};
    PolicyJobView view;
    job->account.told_device = 0;
    if (policy_find_job(control_get_policy(job->control), job->number.low, &view) &&
        view.suspending)
        return;
    text_appendf(&text, "%s, to make room on %s", where,
        control_device_facts(job->control, job->site.device)->name);
    control_tell_rarely(job, JOB_EVENT_MOVED_OUT, text_builder_get(&text));
}

void control_tell_running(ControlJob *job) {
    const Control *control = job->control;
    const ExecutorDevice *device = control_device_facts(control, job->site.device);
    TextBuilder OWN_TEXT(text) = {0};
    char *why = NULL;
    if (job->account.told_device == job->site.device + 1) return;
    job->account.told_device = job->site.device + 1;
    text_appendf(&text, "on %s, ", device->name);
    if (job->demanded != POLICY_NO_DEVICE)
        text_append(&text, "which was asked for");
    else if (control_device_count(control) == 1)
        text_append(&text, "the only device");
    else if (!job->model->constant_bytes)
        text_append(&text, "the first with room and time for it");
    else
        text_appendf(&text, "the first with room and time for it; its weights %s",
            job->model->loaded_ns[job->site.device] > job->account.submitted_ns
                ? "were loaded there"
                : "were there already");
    error_free(text_builder_take(&text, &why)); /* without memory it is told without words */
    append(job, JOB_EVENT_RUNNING, why);
}

void control_tell_preempted(ControlJob *job) {
    PolicyJobView view;
    bool known = policy_find_job(control_get_policy(job->control), job->number.low, &view);
    if (known && !view.suspending && !view.cancelling)
        control_tell_rarely(job, JOB_EVENT_PREEMPTED, "a job of a higher class came");
}

bool control_tell_missed(ControlJob *job) {
    if (job->asked.deadline_state == JOB_DEADLINE_MISSED) return false;
    job->asked.deadline_state = JOB_DEADLINE_MISSED;
    control_count(job->control, METRIC_DEADLINES_MISSED, 0, 1);
    control_tell(job, JOB_EVENT_DEADLINE, "its deadline passed before it ended");
    return true;
}

void control_tell_promise(ControlJob *job, uint64_t end_ns) {
    uint64_t now_ns = control_now_ns(job->control);
    double left_s = end_ns > now_ns ? (double)(end_ns - now_ns) * 1e-9 : 0;
    control_lock(job->control);
    job->account.status.promised_end = control_calendar_s(job->control) + left_s;
    control_unlock(job->control);
}

bool control_tell_class(ControlJob *job) {
    const ControlExecutorPort *executor = &job->control->ports.executor;
    char *words = executor->take_class_change(executor->self, &job->hold);
    if (!words) return false;
    append(job, JOB_EVENT_NOTE, words);
    return true;
}
