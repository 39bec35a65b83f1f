#include "scheduler/node/submission.h"

#include <math.h>
#include <string.h>

#include "base/allocator.h"
#include "tests/support/test_support.h"

static void test_submission_asks_for_the_least(void **state) {
    (void)state;
    Submission OWN_SUBMISSION(submission) = {0};
    assert_ok(submission_init(&submission, NULL, NULL));
    const JobPolicy *policy = &submission.policy;
    assert_string_equal(policy->function, "main");
    assert_string_equal(policy->device, "");
    assert_true(policy->batch == 1 && policy->weight == 1 && policy->checkpoint_keep == 1);
    assert_true(!policy->items && policy->shared_count == 0 && policy->checkpoint_every_ns == 0);
    assert_true(submission.priority == POLICY_NORMAL && submission.release == JOB_RELEASE_LOG);
    assert_true(isnan(submission.deadline) && !submission.key && submission.item_count == -1);
    assert_true(submission.state == JOB_STATE_NONE && !submission.restore && !submission.arrival);
}

/* The row is the submission; only a state that nobody asked for becomes queued. */
static void test_submission_becomes_a_row(void **state) {
    (void)state;
    Submission OWN_SUBMISSION(submission) = {0};
    JobPolicy OWN_POLICY(back) = {0};
    assert_ok(submission_init(&submission, "f", "sim:0"));
    submission.model = "m@2";
    submission.key = "k";
    submission.priority = POLICY_LOW;
    submission.release = JOB_RELEASE_CHECKPOINT;
    submission.deadline = 12.5;
    submission.item_count = 7;
    submission.origin = (JobOrigin){JOB_ORIGIN_COPY, {3, 4}, 5};
    submission.epoch = 6;
    memset(submission.executable.bytes, 1, DIGEST_SIZE);
    memset(submission.request.bytes, 2, DIGEST_SIZE);
    assert_ok(submission_store_policy(&submission));
    JobSubmission row = submission_row(&submission);
    assert_string_equal(row.model, "m@2");
    assert_string_equal(row.key, "k");
    assert_true(digest_equal(&row.executable, &submission.executable));
    assert_true(digest_equal(&row.request, &submission.request));
    assert_true(row.priority == 2 && row.release == JOB_RELEASE_CHECKPOINT);
    assert_true(row.deadline == 12.5 && row.items_total == 7 && row.epoch == 6);
    assert_true(row.origin.kind == JOB_ORIGIN_COPY && row.origin.epoch == 5);
    assert_true(job_id_equal(row.origin.job, (JobId){3, 4}));
    assert_ptr_equal(row.inputs, &submission.stored_inputs);
    assert_ok(job_policy_read(row.policy, row.policy_size, &back));
    assert_string_equal(back.function, "f");
    assert_string_equal(back.device, "sim:0");
    assert_int_equal(row.state, JOB_STATE_QUEUED);
    submission.state = JOB_STATE_SUSPENDED;
    assert_int_equal(submission_row(&submission).state, JOB_STATE_SUSPENDED);
}

int test_submission(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_submission_asks_for_the_least),
        cmocka_unit_test(test_submission_becomes_a_row),
    };
    return cmocka_run_group_tests_name("submission", tests, NULL, NULL);
}
