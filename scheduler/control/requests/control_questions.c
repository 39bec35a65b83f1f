#include "scheduler/control/requests/control_questions.h"

#include "base/allocator.h"
#include "base/container_of.h"
#include "scheduler/control/requests/control_requests.h"
#include "scheduler/control/state/control_shared.h"

static Error *await_answer(ControlRequest *request) {
    while (sem_wait(&request->done) != 0) continue; /* interrupted by a signal */
    (void)sem_destroy(&request->done);
    return request->error;
}

/* Every request that was posted is answered, also by a control thread that has failed. */
Error *control_send(Control *control, ControlRequest *request) {
    request->message.handle = control_handle_request;
    (void)sem_init(&request->done, 0, 0);
    Error *error = control_leave_checked(control, &request->message);
    if (!error) {
        control_help(control, false);
        return await_answer(request);
    }
    (void)sem_destroy(&request->done);
    return error;
}

/* Sends a request that names a job and nothing else. */
static Error *ask(Control *control, ControlRequestKind kind, TenantId tenant, JobId job) {
    return control_send(control, &(ControlRequest){.kind = kind, .tenant = tenant, .job = job});
}

Error *control_submit(
    Control *control, Submission *inout_submission, JobId *out_id, bool *out_created) {
    ControlRequest request = {
        .kind = CONTROL_SUBMIT, .tenant = inout_submission->tenant, .submission = inout_submission};
    TRY(control_send(control, &request));
    *out_id = request.job;
    *out_created = request.created;
    return NULL;
}

Error *control_load(Control *control, TenantId tenant, JobId job) {
    return ask(control, CONTROL_LOAD, tenant, job);
}

Error *control_tell_quotas(Control *control, TenantId tenant) {
    return control_send(control, &(ControlRequest){.kind = CONTROL_QUOTAS, .tenant = tenant});
}

Error *control_drain(Control *control, uint64_t grace_ns, size_t *out_left) {
    ControlRequest request = {.kind = CONTROL_DRAIN, .grace_ns = grace_ns};
    TRY(control_send(control, &request));
    *out_left = (size_t)request.job.number;
    return NULL;
}

Error *control_suspend(Control *control, TenantId tenant, JobId job) {
    return ask(control, CONTROL_SUSPEND, tenant, job);
}

Error *control_resume(Control *control, TenantId tenant, JobId job, const char *device) {
    return control_send(control,
        &(ControlRequest){.kind = CONTROL_RESUME, .tenant = tenant, .job = job, .device = device});
}

Error *control_cancel(Control *control, TenantId tenant, JobId job) {
    return ask(control, CONTROL_CANCEL, tenant, job);
}

Error *control_checkpoint(Control *control, TenantId tenant, JobId job) {
    return ask(control, CONTROL_CHECKPOINT, tenant, job);
}

Error *control_explain(Control *control, TenantId tenant, JobId job, char out_why[JOB_WHY_SIZE]) {
    return control_send(control,
        &(ControlRequest){.kind = CONTROL_EXPLAIN, .tenant = tenant, .job = job, .text = out_why});
}

Error *control_migration_stop(Control *control, TenantId tenant, JobId job, const char *why) {
    return control_send(
        control, &(ControlRequest){
                     .kind = CONTROL_MIGRATION_STOP, .tenant = tenant, .job = job, .why = why});
}

Error *control_migration_commit(Control *control, TenantId tenant, JobId job, const char *why) {
    return control_send(
        control, &(ControlRequest){
                     .kind = CONTROL_MIGRATION_COMMIT, .tenant = tenant, .job = job, .why = why});
}

Error *control_migration_revert(
    Control *control, TenantId tenant, JobId job, bool suspended, const char *why) {
    return control_send(control, &(ControlRequest){.kind = CONTROL_MIGRATION_REVERT,
                                     .tenant = tenant,
                                     .job = job,
                                     .suspended = suspended,
                                     .why = why});
}

Error *control_arrival_own(
    Control *control, TenantId tenant, JobId job, bool suspended, int64_t epoch, const char *why) {
    return control_send(control, &(ControlRequest){.kind = CONTROL_ARRIVAL_OWN,
                                     .tenant = tenant,
                                     .job = job,
                                     .suspended = suspended,
                                     .epoch = epoch,
                                     .why = why});
}

Error *control_arrival_abort(Control *control, TenantId tenant, JobId job) {
    return ask(control, CONTROL_ARRIVAL_ABORT, tenant, job);
}

Error *control_freeze(Control *control, TenantId tenant, JobId job) {
    return ask(control, CONTROL_FREEZE, tenant, job);
}

Error *control_release_to_file(Control *control, TenantId tenant, JobId job) {
    return ask(control, CONTROL_RELEASE, tenant, job);
}

Error *control_thaw(Control *control, TenantId tenant, JobId job) {
    return ask(control, CONTROL_THAW, tenant, job);
}

Error *control_check_queue(Control *control, const Tenant *tenant) {
    const int64_t quota = tenant->quotas[QUOTA_QUEUED_JOBS];
    ControlTenantStatus status;
    control_get_tenant(control, tenant->id, &status);
    if (quota == QUOTA_UNLIMITED || (int64_t)status.waiting < quota) return NULL;
    return control_send(control, &(ControlRequest){.kind = CONTROL_PLACE, .tenant = tenant->id});
}

/* ---- questions without a thread that waits ---- */

/* A submission whose job is transient. */
typedef struct Transient {
    ControlRequest request;
    ControlReceiver *receiver;
} Transient;

/* On the control thread: the job has begun, or was refused. */
static void pass_refusal(ControlRequest *request) {
    Transient *transient = CONTAINER_OF(request, Transient, request);
    ControlReceiver *receiver = transient->receiver;
    Error *error = request->error;
    memory_free(transient);
    ArrayList none = {0};
    if (error) receiver->receive(receiver, &(ControlEnd){.outputs = &none, .owned_error = error});
}

JobId control_next_transient(Control *control) {
    return (JobId){.number = atomic_fetch_add(&control->shared->last_transient, 1) + 1};
}

Error *control_submit_transient(
    Control *control, JobId id, Submission *submission, ControlReceiver *receiver, bool helps) {
    void *memory;
    TRY(memory_alloc(1, sizeof(Transient), &memory));
    Transient *transient = memory;
    *transient = (Transient){.receiver = receiver,
        .request = {.message.handle = control_handle_request,
            .kind = CONTROL_SUBMIT,
            .tenant = submission->tenant,
            .job = id,
            .submission = submission,
            .receiver = receiver,
            .answered = pass_refusal}};
    Message *message = &transient->request.message;
    Error *error =
        helps ? control_leave_checked(control, message) : control_post_checked(control, message);
    if (error) memory_free(transient);
    return error;
}

typedef struct Question {
    ControlRequest request;
    ControlAnswer *answer;
    void *context;
} Question;

static void pass_answer(ControlRequest *request) {
    Question *question = CONTAINER_OF(request, Question, request);
    question->answer(question->context, request->error);
    memory_free(question);
}

Error *control_ask(Control *control, ControlQuestion what, TenantId tenant, JobId job,
    ControlAnswer *answer, void *context) {
    static const ControlRequestKind kinds[] = {[CONTROL_ASK_SUSPEND] = CONTROL_SUSPEND,
        [CONTROL_ASK_CANCEL] = CONTROL_CANCEL,
        [CONTROL_ASK_CHECKPOINT] = CONTROL_CHECKPOINT};
    void *memory;
    TRY(memory_alloc(1, sizeof(Question), &memory));
    Question *question = memory;
    question->answer = answer;
    question->context = context;
    question->request = (ControlRequest){.message.handle = control_handle_request,
        .kind = kinds[what],
        .tenant = tenant,
        .job = job,
        .answered = pass_answer};
    Error *error = control_post_checked(control, &question->request.message);
    if (error) memory_free(question);
    return error;
}
