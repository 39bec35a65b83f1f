#include "base/allocator.h"
#include "scheduler/service/job_service_internal.h"

/* A question to the control thread that holds no thread until the job has reached its safepoint. */
typedef struct ServiceWait {
    JobService *service;
    TenantId tenant;
    JobId job;
    JobsApiQuestion what;
    bool needed; /* else the wait is over at once */
    HttpWaker waker;
    Error *error;
} ServiceWait;

/* On the control thread. */
static void take_answer(void *context, Error *owned_error) {
    ServiceWait *wait = context;
    wait->error = owned_error;
    wait->waker.wake(wait->waker.self); /* the wait belongs to its owner again */
}

static void begin(void *self, HttpWaker waker) {
    static const ControlQuestion questions[] = {[JOBS_API_ASK_SUSPEND] = CONTROL_ASK_SUSPEND,
        [JOBS_API_ASK_CANCEL] = CONTROL_ASK_CANCEL,
        [JOBS_API_ASK_CHECKPOINT] = CONTROL_ASK_CHECKPOINT,
        [JOBS_API_ASK_RELEASE] = CONTROL_ASK_SUSPEND};
    ServiceWait *wait = self;
    wait->waker = waker;
    if (!wait->needed) {
        take_answer(wait, NULL);
        return;
    }
    Error *error = control_ask(
        wait->service->control, questions[wait->what], wait->tenant, wait->job, take_answer, wait);
    if (error) take_answer(wait, error); /* else the wait may be freed already */
}

static void drop(void *self) {
    ServiceWait *wait = self;
    error_free(wait->error); /* no caller asks for the error any more */
    memory_free(wait);
}

/* For a checkpoint it is no error that a job has not begun, or was suspended meanwhile: the newest
 * checkpoint is as good. */
static Error *check_newest(ServiceWait *wait, Error *owned_error) {
    Job row;
    if (error_code(owned_error) != ERROR_CONFLICT) return owned_error;
    Error *missing = jobs_get(wait->service->store, wait->tenant, wait->job, &row);
    if (!missing && job_state_is_unfinished(row.state)) {
        error_free(owned_error); /* as above */
        return NULL;
    }
    error_free(missing); /* the first one says why */
    return owned_error;
}

static Error *end(void *self, bool *out_suspended) {
    ServiceWait *wait = self;
    Error *error = TAKE(wait->error);
    if (wait->what == JOBS_API_ASK_CHECKPOINT) error = check_newest(wait, error);
    *out_suspended = wait->what == JOBS_API_ASK_RELEASE && wait->needed && !error;
    drop(wait);
    return error;
}

static bool needs_control(JobsApiQuestion what, JobState state) {
    return what == JOBS_API_ASK_SUSPEND || what == JOBS_API_ASK_CANCEL || state == JOB_STATE_QUEUED;
}

Error *job_service_ask(void *self, const Caller *caller, const char *job, JobsApiQuestion what,
    JobsApiWait *out_wait) {
    JobService *service = self;
    Job row;
    void *memory;
    TRY(job_service_find(service, caller, job, &row));
    TRY(memory_alloc(1, sizeof(ServiceWait), &memory));
    ServiceWait *wait = memory;
    *wait = (ServiceWait){.service = service,
        .tenant = row.tenant,
        .job = row.id,
        .what = what,
        .needed = needs_control(what, row.state)};
    *out_wait = (JobsApiWait){.begin = begin, .end = end, .drop = drop, .self = wait};
    return NULL;
}
