#include "scheduler/control/jobs/control_receivers.h"

#include "base/allocator.h"

static void receive(ControlJob *job, ArrayList *outputs, Error *owned_error) {
    ControlReceiver *receiver = TAKE(job->receiver);
    const JobAccount *account = &job->account;
    ControlEnd end = {.outputs = outputs,
        .owned_error = owned_error,
        .queue_ns = account->started_ns ? account->started_ns - account->submitted_ns : 0,
        .device_ns = account->device_ns};
    receiver->receive(receiver, &end);
}

void control_receive_error(ControlJob *job, Error *owned_error) {
    ArrayList none = {0};
    if (job->receiver)
        receive(job, &none, owned_error);
    else
        error_free(owned_error); /* the job's end was told already */
}

void control_receive_end(ControlJob *job, StoreCommit *commit) {
    if (!job->receiver) return;
    if (commit->state == JOB_STATE_SUCCEEDED && commit->outputs.last)
        receive(job, &commit->outputs.last->arrays, NULL);
    else if (commit->state == JOB_STATE_CANCELLED)
        control_receive_error(
            job, error_make(ERROR_CANCELLED, __FILE__, __LINE__, "the request was cancelled"));
    else if (job->failure)
        control_receive_error(job, TAKE(job->failure));
    else
        control_receive_error(job, error_make(ERROR_FAILED, __FILE__, __LINE__, "%s",
                                       commit->why ? commit->why : "the function has no result"));
}

void control_take_outputs(ControlJob *job) {
    ControlOutputs *outputs = &job->pending.outputs;
    control_outputs_append(outputs, &job->hold.outputs);
    if (job->transient) control_outputs_keep_last(outputs);
}
