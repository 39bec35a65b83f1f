/* What others ask of a job that the control thread has: with a thread that waits, or without. */
#include "base/allocator.h"
#include "base/container_of.h"
#include "scheduler/control/state/control_internal.h"

Error *control_suspend(Control *control, TenantId tenant, JobId job) {
    return control_send(
        control, &(ControlRequest){.kind = CONTROL_SUSPEND, .tenant = tenant, .job = job});
}

Error *control_resume(Control *control, TenantId tenant, JobId job, const char *device) {
    return control_send(control,
        &(ControlRequest){.kind = CONTROL_RESUME, .tenant = tenant, .job = job, .device = device});
}

Error *control_cancel(Control *control, TenantId tenant, JobId job) {
    return control_send(
        control, &(ControlRequest){.kind = CONTROL_CANCEL, .tenant = tenant, .job = job});
}

Error *control_checkpoint(Control *control, TenantId tenant, JobId job) {
    return control_send(
        control, &(ControlRequest){.kind = CONTROL_CHECKPOINT, .tenant = tenant, .job = job});
}

Error *control_explain(Control *control, TenantId tenant, JobId job, char out_why[JOB_WHY_SIZE]) {
    return control_send(control,
        &(ControlRequest){.kind = CONTROL_EXPLAIN, .tenant = tenant, .job = job, .text = out_why});
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
    Error *error = control_post_request(control, &question->request);
    if (error) memory_free(question);
    return error;
}
