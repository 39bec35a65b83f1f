/* The requests that wait for what becomes of a job, and their answers; on the control thread. */
#include "scheduler/control/slices/control_aside.h"
#include "scheduler/control/state/control_internal.h"

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

/* The state that a waiting request waits for; NONE: it waits for something else. */
static JobState state_of(const ControlRequest *request) {
    static const JobState states[CONTROL_DRAIN + 1] = {[CONTROL_SUSPEND] = JOB_STATE_SUSPENDED,
        [CONTROL_RESUME] = JOB_STATE_QUEUED,
        [CONTROL_CANCEL] = JOB_STATE_CANCELLED,
        [CONTROL_RELEASE] = JOB_STATE_RELEASED,
        [CONTROL_CHECKPOINT] = JOB_STATE_SUSPENDED}; /* it came with a checkpoint */
    JobState state = states[request->kind];
    return state != JOB_STATE_NONE ? state : control_migration_state(request);
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

/* Answers the waiting requests of one kind, or those of all other kinds. */
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

/* The bound keeps the HTTP server's threads free: each waiting request holds one, and a kernel may
 * run for long. All waiting requests of a kind get the same answer. */
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
