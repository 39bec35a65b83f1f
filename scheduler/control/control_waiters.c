/* The requests that wait for what becomes of a job, and their answers; on the control thread. */
#include "scheduler/control/control_aside.h"
#include "scheduler/control/control_internal.h"

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

/* NONE: of a request that waits for no state. */
static JobState state_of(const ControlRequest *request) {
    static const JobState states[CONTROL_DRAIN + 1] = {[CONTROL_SUSPEND] = JOB_STATE_SUSPENDED,
        [CONTROL_RESUME] = JOB_STATE_QUEUED,
        [CONTROL_CANCEL] = JOB_STATE_CANCELLED,
        [CONTROL_RELEASE] = JOB_STATE_RELEASED,
        [CONTROL_CHECKPOINT] = JOB_STATE_SUSPENDED}; /* it came with a checkpoint */
    JobState state = states[request->kind];
    return state != JOB_STATE_NONE ? state : control_migration_state(request);
}

/* Those that wait for the job's state; the others, but for those that wait for 'coming', with an
 * error. coming: NONE if the job will be in no other state. */
static void answer_reached(
    ControlJob *job, JobState coming, ErrorCode otherwise, const char *words) {
    ControlRequest **link = &job->asked.waiters, *request;
    while ((request = *link)) { /* none, where its row is not stored yet */
        const char *name = job_state_info(job->pending.stored)->name;
        const JobState awaited = state_of(request);
        const bool reached = job->pending.stored == awaited;
        if (!reached && awaited != JOB_STATE_NONE && awaited == coming) {
            link = &request->next;
            continue;
        }
        *link = request->next;
        control_answer(request,
            reached ? NULL : error_make(otherwise, __FILE__, __LINE__, "%s %s", words, name));
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

/* Answers the waiters of one kind, or all but those. */
static void answer_some(
    ControlJob *job, ControlRequestKind kind, bool of_kind, const Error *error) {
    ControlRequest **link = &job->asked.waiters, *request;
    while ((request = *link)) {
        if ((request->kind == kind) != of_kind) {
            link = &request->next;
            continue;
        }
        *link = request->next;
        control_answer(request, error_copy(error));
    }
}

void control_answer_checkpoint(ControlJob *job) {
    answer_some(job, CONTROL_CHECKPOINT, true, NULL);
}

void control_answer_stalled(ControlJob *job, const Error *error) {
    answer_some(job, CONTROL_CANCEL, false, error);
}

/* All that one more would learn is what the first one learns: nobody fills the server with waiting
 * for one long kernel. */
Error *control_wait_for(ControlJob *job, ControlRequest *request) {
    uint32_t count = 0;
    for (const ControlRequest *other = job->asked.waiters; other; other = other->next)
        count += other->kind == request->kind;
    if (count >= CONTROL_WAITERS_MAX)
        FAIL(EXHAUSTED, "%u requests for the same wait already; try again later", count);
    control_note_wait(job, request);
    request->next = job->asked.waiters;
    job->asked.waiters = request;
    return NULL;
}
