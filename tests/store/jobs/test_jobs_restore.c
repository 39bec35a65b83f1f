#include <string.h>

#include "store/jobs/node_identity.h"
#include "tests/store/job_fixtures.h"

enum { OUTPUTS = 2 };

/* Everything that a file gives of a job of 10 items, 4 done. */
typedef struct Example {
    JobContent inputs, outputs[OUTPUTS], checkpoint;
    JobRestore restore;
} Example;

static void example_init(Example *example, TenantId tenant, const Digest *executable) {
    example->inputs = fixture_content(tenant, "inputs");
    example->outputs[0] = fixture_content(tenant, "zero");
    example->outputs[1] = fixture_content(tenant, "one");
    example->checkpoint = fixture_content(tenant, "here");
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
    example_init(&example, TENANT_DEFAULT, &executable);
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
    example_init(&example, TENANT_DEFAULT, &executable);
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
    example_init(&example, TENANT_DEFAULT, &executable);
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
    example_init(&example, TENANT_DEFAULT, &executable);
    example.restore.id = id;
    example.restore.job.epoch = 1;
    example.restore.job.origin = (JobOrigin){JOB_ORIGIN_RELEASE, id, 0};
    expect_error(restore(store, &example.restore, &back), ERROR_CONFLICT, "is here already");
    expect_ok(fixture_add_checkpoint(store, id, "old", 3, 0, 5, &number));
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_RELEASED, NULL)));
    expect_error(restore_for(store, stranger, &example.restore, &back), ERROR_CONFLICT,
        "of this tenant went from this home");
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
    example_init(&example, TENANT_DEFAULT, &executable);
    example.restore.id = (JobId){ours.node, ours.number + 100}; /* an id that is still to come */
    example.restore.job.epoch = 1;
    example.restore.vouched = true;
    expect_error(restore(store, &example.restore, &back), ERROR_CONFLICT, "went from this home");
    example.restore.id = (JobId){ours.node ^ 1, 3};
    expect_ok(restore(store, &example.restore, &back));
    assert_true(job_id_equal(back, example.restore.id));
    expect_error(restore(store, &example.restore, &back), ERROR_CONFLICT, "is here already");
    assert_true(fixture_submit(store, TENANT_DEFAULT).number > ours.number);
    fixture_expect_clean(store);
}

/* A file that says it owns that job, and what a home answers its holder; the text of a refusal. */
static Error *restore_said(
    Store *store, TenantId tenant, Example *example, JobId id, int64_t epoch, JobId *out_id) {
    example->restore.id = id;
    example->restore.job.epoch = epoch + 1;
    example->restore.job.origin = (JobOrigin){JOB_ORIGIN_RELEASE, id, epoch};
    return restore_for(store, tenant, &example->restore, out_id);
}

/* The same words as for a job that nobody has, but for its name. */
static void expect_said_the_same(Store *store, TenantId tenant, Example *example, JobId id) {
    char texts[2][256], name[JOB_ID_TEXT_SIZE];
    const JobId ids[2] = {id, {id.node, id.number + 8}};
    for (int i = 0; i < 2; i++) {
        JobId back;
        Error *error = restore_said(store, tenant, example, ids[i], 5, &back);
        assert_int_equal(error_code(error), ERROR_CONFLICT);
        job_id_print(ids[i], name);
        char *at = strstr(error_message(error), name);
        assert_non_null(at);
        (void)snprintf(texts[i], sizeof texts[i], "%.*s%s", (int)(at - error_message(error)),
            error_message(error), at + strlen(name));
        error_free(error);
    }
    assert_string_equal(texts[0], texts[1]);
}

static void test_jobs_restore_tells_nothing_of_other_tenants_jobs(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TenantId stranger = fixture_add_tenant(store, "stranger");
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    fixture_add_executable(store, stranger);
    Example example, of_stranger;
    JobId ours = fixture_submit(store, TENANT_DEFAULT), theirs = {ours.node ^ 1, 3}, made[2], back;
    example_init(&example, TENANT_DEFAULT, &executable);
    example_init(&of_stranger, stranger, &executable);
    expect_said_the_same(store, stranger, &of_stranger, ours); /* queued */
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, ours, JOB_STATE_RELEASED, NULL)));
    expect_said_the_same(store, stranger, &of_stranger, ours);
    example.restore.vouched = true;
    expect_ok(restore_said(store, TENANT_DEFAULT, &example, theirs, 0, &back));
    assert_true(job_id_equal(back, theirs));
    for (uint64_t i = 0; i < 2; i++) {
        const JobId id = {theirs.node, theirs.number + i}; /* the second is nobody's */
        expect_ok(restore_said(store, stranger, &of_stranger, id, INT64_MAX - 1, &made[i]));
        assert_int_equal(made[i].node, ours.node);
        Job job = fixture_get(store, stranger, made[i]);
        assert_int_equal(job.origin.kind, JOB_ORIGIN_RELEASE);
        assert_true(job_id_equal(job.origin.job, id));
    }
    assert_int_equal(made[1].number, made[0].number + 1);
    Job job = fixture_get(store, TENANT_DEFAULT, theirs); /* is as it was */
    assert_int_equal(job.epoch, 1);
    fixture_expect_clean(store);
}

/* Under a new name the file gives its job once, too, and no later word for it changes that. */
static void test_jobs_restore_gives_a_job_that_nobody_vouches_for_once(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    Example example;
    const JobId id = {1, 3};
    JobId made, back;
    OWN(JobEventList, events) = NULL;
    char name[JOB_ID_TEXT_SIZE];
    example_init(&example, TENANT_DEFAULT, &executable);
    expect_ok(restore_said(store, TENANT_DEFAULT, &example, id, 2, &made));
    assert_false(job_id_equal(made, id));
    job_id_print(made, name);
    expect_ok(job_events_list(store, TENANT_DEFAULT, made, 0, &events));
    assert_non_null(strstr(events->items[0].why, "says it owned job 000000000001-3"));
    for (int vouched = 0; vouched < 2; vouched++)
        for (int64_t epoch = 0; epoch < 3; epoch++) {
            example.restore.vouched = vouched;
            expect_error(restore_said(store, TENANT_DEFAULT, &example, id, epoch, &back),
                ERROR_CONFLICT, name);
        }
    expect_ok(restore_said(store, TENANT_DEFAULT, &example, id, 3, &back)); /* it went on since */
    assert_true(job_id_equal(back, id));
    fixture_expect_clean(store);
}

TEST_GROUP(jobs_restore, cmocka_unit_test(test_jobs_restore_makes_a_new_job_of_a_copy),
    cmocka_unit_test(test_jobs_restore_refuses_what_does_not_fit),
    cmocka_unit_test(test_jobs_restore_keeps_the_key_of_the_job_that_went),
    cmocka_unit_test(test_jobs_restore_takes_a_released_job_over_once),
    cmocka_unit_test(test_jobs_restore_takes_a_job_of_another_home_over_once),
    cmocka_unit_test(test_jobs_restore_tells_nothing_of_other_tenants_jobs),
    cmocka_unit_test(test_jobs_restore_gives_a_job_that_nobody_vouches_for_once))
