#include "scheduler/control/jobs/control_waiters.h"

#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/state/control_orders.h"

void control_answer(ControlRequest *request, Error *owned_error) {
    request->error = owned_error;
    /* the request is its sender's again */
    if (request->answered)
        request->answered(request);
    else
        (void)sem_post(&request->done);
}

void control_answer_waiters(ControlJob *job, const Error *error) {
    ControlRequest *request = job->asked.waiters, *next;
    job->asked.waiters = NULL;
    for (; request; request = next) {
        next = request->next;
        control_answer(request, error_copy(error));
    }
}

/* The state that the request waits for; NONE: none. */
static JobState state_of(const ControlRequest *request) {
    static const JobState states[CONTROL_DRAIN + 1] = {[CONTROL_SUSPEND] = JOB_STATE_SUSPENDED,
        [CONTROL_RESUME] = JOB_STATE_QUEUED,
        [CONTROL_CANCEL] = JOB_STATE_CANCELLED,
        [CONTROL_RELEASE] = JOB_STATE_RELEASED,
        [CONTROL_MIGRATION_STOP] = JOB_STATE_HELD,
        [CONTROL_MIGRATION_COMMIT] = JOB_STATE_MOVED,
        [CONTROL_MIGRATION_REVERT] = JOB_STATE_QUEUED,
        [CONTROL_ARRIVAL_OWN] = JOB_STATE_QUEUED,
        [CONTROL_CHECKPOINT] = JOB_STATE_SUSPENDED}; /* it came with a checkpoint */
    const bool rests =
        request->kind == CONTROL_MIGRATION_REVERT || request->kind == CONTROL_ARRIVAL_OWN;
    return rests && request->suspended ? JOB_STATE_SUSPENDED : states[request->kind];
}

/* Answers the requests that wait for the job's stored state with success, and the others with an
 * error. Those that wait for `coming`, the state that is stored next, wait on; NONE: no state
 * follows. */
static void answer_reached(
    ControlJob *job, JobState coming, ErrorCode otherwise, const char *words) {
    ControlRequest **link = &job->asked.waiters, *request;
    while ((request = *link)) {
        const JobState awaited = state_of(request);
        const bool reached = job->pending.stored == awaited;
        if (!reached && awaited != JOB_STATE_NONE && awaited == coming) {
            link = &request->next;
            continue;
        }
        *link = request->next;
        control_answer(request, reached ? NULL
                                        : error_make(otherwise, __FILE__, __LINE__, "%s %s", words,
                                              job_state_info(job->pending.stored)->name));
    }
}

void control_answer_state(ControlJob *job) {
    const JobState coming =
        job_storing_has_ended(&job->pending.storing) ? JOB_STATE_NONE : job->pending.next.state;
    answer_reached(job, coming, ERROR_CONFLICT, "meanwhile the job is");
}

void control_answer_drained(ControlJob *job) {
    answer_reached(job, JOB_STATE_NONE, ERROR_UNREACHABLE, "the daemon stops; the job is still");
}

/* Answers the waiting requests of one kind, or those of all other kinds, that began to wait until
 * then. */
static void answer_some(
    ControlJob *job, ControlRequestKind kind, bool of_kind, uint64_t until_ns, const Error *error) {
    ControlRequest **link = &job->asked.waiters, *request;
    while ((request = *link)) {
        if ((request->kind == kind) != of_kind || request->asked_ns > until_ns) {
            link = &request->next;
            continue;
        }
        *link = request->next;
        control_answer(request, error_copy(error));
    }
}

void control_answer_checkpoint(ControlJob *job, uint64_t until_ns) {
    answer_some(job, CONTROL_CHECKPOINT, true, until_ns, NULL);
}

void control_answer_stalled(ControlJob *job, const Error *error) {
    answer_some(job, CONTROL_CANCEL, false, UINT64_MAX, error);
}

/* ---- requests that wait for a kernel ---- */

/* A request for a suspend or a checkpoint is answered within this time, whatever runs. */
static const uint64_t LATE_NS = 800000000;

static void note_wait(const ControlJob *job, ControlRequest *request) {
    ControlWaits *waits = job->control->waits;
    request->asked_ns = control_now_ns(job->control);
    if (request->kind == CONTROL_SUSPEND || request->kind == CONTROL_CHECKPOINT)
        waits->late_ns = control_earlier_ns(request->asked_ns + LATE_NS, waits->late_ns);
}

/* The bound keeps the HTTP server's threads free: each waiting request holds one, and a kernel may
 * run for long. All waiting requests of a kind get the same answer. */
Error *control_wait_for(ControlJob *job, ControlRequest *request) {
    uint32_t count = 0;
    for (const ControlRequest *other = job->asked.waiters; other; other = other->next)
        count += other->kind == request->kind;
    if (count >= CONTROL_WAITERS_MAX)
        FAIL(EXHAUSTED, "%u requests for the same wait already; try again later", count);
    note_wait(job, request);
    request->next = job->asked.waiters;
    job->asked.waiters = request;
    return NULL;
}

static Error *fail_late(ControlJob *job, ControlRequestKind kind) {
    const LongKernel kernel = control_job_get_kernel(job);
    const char *then = kind == CONTROL_SUSPEND
                           ? "the job is suspended when it ends"
                           : "the checkpoint is taken when it ends, or now if you suspend the job";
    if (!kernel.name)
        FAIL(EXHAUSTED, "the job has reached no safepoint for %.1f s, its kernel computes on: %s",
            (double)LATE_NS * 1e-9, then);
    FAIL(EXHAUSTED,
        "the job's kernel %s has computed for %.1f s, and there is no safepoint inside: %s",
        kernel.name, (double)kernel.computed_ns * 1e-9, then);
}

/* Answers the requests of one job. True: other requests wait on. */
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
    if (!control->waits->late_ns || now_ns < control->waits->late_ns) return;
    size_t at = 0;
    for (ControlJob *job; (job = control_jobs_next(control, &at));) {
        if (job->asked.waiters) wait |= answer_late(job, now_ns);
    }
    /* what is being written takes its time; soon enough for those that came later */
    control->waits->late_ns = wait ? now_ns + LATE_NS / 8 : 0;
}

uint64_t control_late_due_ns(const Control *control) { return control->waits->late_ns; }
