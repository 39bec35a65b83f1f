#include <string.h>

#include "store/node_identity.h"
#include "tests/store/job_fixtures.h"

enum { OUTPUTS = 2 };

/* Everything that a file gives of a job of 10 items, 4 done. */
typedef struct Example {
    JobContent inputs, outputs[OUTPUTS], checkpoint;
    JobRestore restore;
} Example;

static void example_init(Example *example, const Digest *executable) {
    example->inputs = fixture_content(TENANT_DEFAULT, "inputs");
    example->outputs[0] = fixture_content(TENANT_DEFAULT, "zero");
    example->outputs[1] = fixture_content(TENANT_DEFAULT, "one");
    example->checkpoint = fixture_content(TENANT_DEFAULT, "here");
    example->restore = (JobRestore){.job = fixture_submission(executable, &example->inputs),
        .items_done = 4,
        .outputs = example->outputs,
        .output_count = OUTPUTS,
        .checkpoint_outputs = OUTPUTS,
        .checkpoint = &example->checkpoint};
    example->restore.job.origin = (JobOrigin){JOB_ORIGIN_COPY, {77, 5}, 2};
}

static Error *restore_for(Store *store, TenantId tenant, const JobRestore *wanted, JobId *out_id) {
    return fixture_end(jobs_restore(fixture_begin(store), tenant, wanted, out_id));
}

static Error *restore(Store *store, const JobRestore *wanted, JobId *out_id) {
    return restore_for(store, TENANT_DEFAULT, wanted, out_id);
}

static void test_jobs_restore_makes_a_new_job_of_a_copy(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    Example example;
    JobCheckpoint checkpoint;
    JobId id, second;
    int64_t number;
    example_init(&example, &executable);
    expect_ok(restore(store, &example.restore, &id));
    expect_ok(restore(store, &example.restore, &second));
    assert_false(job_id_equal(id, second));
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_int_equal(job.state, JOB_STATE_QUEUED);
    assert_int_equal(job.items_done, 4);
    assert_int_equal(job.outputs_visible, OUTPUTS);
    assert_int_equal(job.epoch, 0);
    assert_int_equal(job.origin.kind, JOB_ORIGIN_COPY);
    assert_int_equal(job.origin.job.number, 5);
    assert_int_equal(job.origin.epoch, 2);
    assert_true(job.checkpoint_created > 0);
    expect_ok(job_checkpoints_get(store, TENANT_DEFAULT, id, 0, &checkpoint));
    assert_int_equal(checkpoint.items_done, 4);
    assert_int_equal(checkpoint.outputs, OUTPUTS);
    assert_string_equal(fixture_read_text(store, TENANT_DEFAULT, id, JOB_CONTENT_OUTPUT, 1), "one");
    expect_ok(fixture_add_output(store, id, 2, "two"));
    expect_ok(fixture_add_checkpoint(store, id, "next", 5, 3, 5, &number));
    fixture_expect_clean(store);
}

static void test_jobs_restore_refuses_what_does_not_fit(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    OWN(JobList, jobs) = NULL;
    Example example;
    JobRestore wrong;
    JobId id;
    example_init(&example, &executable);
    wrong = example.restore;
    wrong.items_done = 11;
    expect_error(restore(store, &wrong, &id), ERROR_INVALID, "11 items");
    wrong.items_done = -1;
    expect_error(restore(store, &wrong, &id), ERROR_INVALID, "-1 items");
    wrong = example.restore;
    wrong.checkpoint = NULL;
    expect_error(restore(store, &wrong, &id), ERROR_INVALID, "no checkpoint");
    wrong = example.restore;
    wrong.checkpoint_outputs = OUTPUTS + 1;
    expect_error(restore(store, &wrong, &id), ERROR_INVALID, "behind 3 outputs");
    wrong = example.restore;
    wrong.job.key = "key";
    expect_error(restore(store, &wrong, &id), ERROR_INVALID, "key");
    wrong = example.restore;
    wrong.job.executable.bytes[0] ^= 1;
    expect_error(restore(store, &wrong, &id), ERROR_NOT_FOUND, "executable");
    expect_ok(
        fixture_end(tenants_set_quota(fixture_begin(store), TENANT_DEFAULT, QUOTA_STORE_BYTES, 1)));
    expect_error(restore(store, &example.restore, &id), ERROR_EXHAUSTED, "store_bytes");
    expect_ok(jobs_list(store, TENANT_DEFAULT, JOB_STATE_NONE, 0, 10, &jobs));
    assert_int_equal(jobs->count, 0); /* nothing half-made */
    fixture_expect_clean(store);
}

/* Whoever submits it again by its key gets the job that went and came back. */
static void test_jobs_restore_keeps_the_key_of_the_job_that_went(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    JobContent inputs = fixture_content(TENANT_DEFAULT, "x");
    JobSubmission submission = fixture_submission(&executable, &inputs);
    submission.key = "monday";
    submission.request = inputs.digest;
    Example example;
    JobId id, back, again;
    bool created;
    expect_ok(fixture_submit_this(store, TENANT_DEFAULT, &submission, &id, &created));
    example_init(&example, &executable);
    example.restore.id = id;
    example.restore.job.epoch = 1;
    example.restore.job.origin = (JobOrigin){JOB_ORIGIN_RELEASE, id, 0};
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_RELEASED, NULL)));
    expect_ok(restore(store, &example.restore, &back));
    expect_ok(fixture_submit_this(store, TENANT_DEFAULT, &submission, &again, &created));
    assert_false(created);
    assert_true(job_id_equal(id, again));
    fixture_expect_clean(store);
}

/* The tombstone becomes the job again, with its events; a file gives its job once. */
static void test_jobs_restore_takes_a_released_job_over_once(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TenantId stranger = fixture_add_tenant(store, "stranger");
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    Example example;
    int64_t number;
    JobId id = fixture_submit(store, TENANT_DEFAULT), back;
    TextBuilder OWN_TEXT(events) = {0};
    example_init(&example, &executable);
    example.restore.id = id;
    example.restore.job.epoch = 1;
    example.restore.job.origin = (JobOrigin){JOB_ORIGIN_RELEASE, id, 0};
    expect_error(restore(store, &example.restore, &back), ERROR_CONFLICT, "is here already");
    expect_ok(fixture_add_checkpoint(store, id, "old", 3, 0, 5, &number));
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_RELEASED, NULL)));
    expect_error(
        restore_for(store, stranger, &example.restore, &back), ERROR_CONFLICT, "taken over");
    expect_ok(restore(store, &example.restore, &back));
    assert_true(job_id_equal(id, back));
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_int_equal(job.state, JOB_STATE_QUEUED);
    assert_int_equal(job.epoch, 1);
    assert_int_equal(job.checkpoint_last, 2); /* numbers are never given twice */
    assert_int_equal(job.output_count, OUTPUTS);
    assert_true(job.finished != job.finished); /* not a number */
    fixture_print_events(store, TENANT_DEFAULT, id, &events);
    assert_non_null(strstr(events.data, "state released"));
    expect_error(restore(store, &example.restore, &back), ERROR_CONFLICT, "is here already");
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_RELEASED, NULL)));
    expect_ok(fixture_end(jobs_drop_contents(fixture_begin(store), TENANT_DEFAULT, id)));
    expect_error(restore(store, &example.restore, &back), ERROR_CONFLICT, "newer file");
    example.restore.job.epoch = 2;
    expect_ok(restore(store, &example.restore, &back));
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, id).epoch, 2);
    fixture_expect_clean(store);
}

static void test_jobs_restore_takes_a_job_of_another_home_over_once(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    JobId ours = fixture_submit(store, TENANT_DEFAULT), back;
    Example example;
    example_init(&example, &executable);
    example.restore.id = (JobId){ours.node, ours.number + 100}; /* an id that is still to come */
    example.restore.job.epoch = 1;
    expect_error(restore(store, &example.restore, &back), ERROR_CONFLICT, "never went");
    example.restore.id = (JobId){ours.node ^ 1, 3};
    expect_ok(restore(store, &example.restore, &back));
    assert_true(job_id_equal(back, example.restore.id));
    expect_error(restore(store, &example.restore, &back), ERROR_CONFLICT, "is here already");
    assert_true(fixture_submit(store, TENANT_DEFAULT).number > ours.number);
    fixture_expect_clean(store);
}

TEST_GROUP(jobs_restore, cmocka_unit_test(test_jobs_restore_makes_a_new_job_of_a_copy),
    cmocka_unit_test(test_jobs_restore_refuses_what_does_not_fit),
    cmocka_unit_test(test_jobs_restore_keeps_the_key_of_the_job_that_went),
    cmocka_unit_test(test_jobs_restore_takes_a_released_job_over_once),
    cmocka_unit_test(test_jobs_restore_takes_a_job_of_another_home_over_once))
