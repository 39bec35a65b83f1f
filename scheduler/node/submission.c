#include "scheduler/node/submission.h"

#include <math.h>

#include "base/allocator.h"

Error *submission_init(Submission *out, const char *function, const char *device) {
    *out = (Submission){.priority = POLICY_NORMAL,
        .release = JOB_RELEASE_LOG,
        .deadline = NAN,
        .item_count = -1,
        .policy = {.batch = 1, .weight = 1, .checkpoint_keep = 1}};
    TRY(memory_copy_text(function ? function : "main", &out->policy.function));
    return memory_copy_text(device ? device : "", &out->policy.device);
}

void submission_deinit(Submission *submission) {
    job_policy_deinit(&submission->policy);
    byte_writer_deinit(&submission->stored_policy);
    batch_release(submission->batch);
    *submission = (Submission){0};
}

Error *submission_store_policy(Submission *submission) {
    job_policy_write(&submission->policy, &submission->stored_policy);
    return byte_writer_check(&submission->stored_policy);
}

JobSubmission submission_row(const Submission *submission) {
    JobState state = submission->state;
    return (JobSubmission){.model = submission->model,
        .executable = submission->executable,
        .key = submission->key,
        .request = submission->request,
        .state = state == JOB_STATE_NONE ? JOB_STATE_QUEUED : state,
        .priority = (int)submission->priority,
        .release = submission->release,
        .items_total = submission->item_count,
        .deadline = submission->deadline,
        .policy = submission->stored_policy.data,
        .policy_size = submission->stored_policy.size,
        .inputs = &submission->stored_inputs,
        .origin = submission->origin,
        .epoch = submission->epoch};
}
