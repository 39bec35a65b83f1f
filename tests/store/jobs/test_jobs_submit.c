#include <string.h>

#include "store/database/row_costs.h"
#include "tests/store/job_fixtures.h"

static void test_jobs_submit_gives_each_job_another_id(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId a = fixture_submit(store, TENANT_DEFAULT), b = fixture_submit(store, TENANT_DEFAULT);
    assert_int_equal(a.node, b.node);
    assert_true(a.node > 0 && a.node <= JOB_ID_NODE_MAX);
    assert_int_equal(a.number + 1, b.number);
    /* A removed job's number is not given again. */
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, b, JOB_STATE_CANCELLED, NULL)));
    expect_ok(fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, b)));
    assert_int_equal(fixture_submit(store, TENANT_DEFAULT).number, b.number + 1);
}

/* A job may begin before it is stored, so whoever took it says when. */
static void test_jobs_submit_keeps_the_time_that_it_is_given(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    JobContent inputs = fixture_content(TENANT_DEFAULT, "x");
    JobSubmission submission = fixture_submission(&executable, &inputs);
    JobId id;
    submission.submitted = 1234.5;
    expect_ok(fixture_submit_this(store, TENANT_DEFAULT, &submission, &id, NULL));
    assert_true(fixture_get(store, TENANT_DEFAULT, id).submitted == 1234.5);
}

static void test_jobs_submit_answers_the_first_job_of_a_key(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TenantId ada = fixture_add_tenant(store, "ada");
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    (void)fixture_add_executable(store, ada);
    JobContent inputs = fixture_content(TENANT_DEFAULT, "x"), hers = fixture_content(ada, "x");
    JobSubmission submission = fixture_submission(&executable, &inputs);
    JobId first, second;
    bool created;
    submission.key = "monday";
    submission.request = inputs.digest;
    expect_ok(fixture_submit_this(store, TENANT_DEFAULT, &submission, &first, &created));
    assert_true(created);
    expect_ok(fixture_submit_this(store, TENANT_DEFAULT, &submission, &second, &created));
    assert_false(created);
    assert_true(job_id_equal(first, second));
    submission.request.bytes[5] ^= 1;
    expect_error(fixture_submit_this(store, TENANT_DEFAULT, &submission, &second, &created),
        ERROR_CONFLICT, "key monday stands for job");
    /* Another tenant's keys are its own. */
    submission.inputs = &hers;
    expect_ok(fixture_submit_this(store, ada, &submission, &second, &created));
    assert_true(created);
    assert_false(job_id_equal(first, second));
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, first).event_count, 1);
    fixture_expect_clean(store);
}

static void test_jobs_submit_refuses_what_it_cannot_store(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    JobContent inputs = fixture_content(TENANT_DEFAULT, "x");
    const JobSubmission good = fixture_submission(&executable, &inputs);
    char text[200];
    JobId id;
    memset(text, 'k', sizeof text - 1);
    text[sizeof text - 1] = 0;
    JobSubmission bad = good;
    bad.key = "";
    expect_error(fixture_submit_this(store, TENANT_DEFAULT, &bad, &id, NULL), ERROR_INVALID,
        "key has 1 to 128");
    bad.key = text;
    expect_error(
        fixture_submit_this(store, TENANT_DEFAULT, &bad, &id, NULL), ERROR_INVALID, "not 199");
    bad = good;
    bad.model = text;
    expect_error(
        fixture_submit_this(store, TENANT_DEFAULT, &bad, &id, NULL), ERROR_INVALID, "too long");
    bad = good;
    bad.policy_size = JOB_POLICY_SIZE_MAX + 1;
    expect_error(fixture_submit_this(store, TENANT_DEFAULT, &bad, &id, NULL), ERROR_INVALID,
        "policy of 65537");
    bad = good;
    bad.priority = 256;
    expect_error(
        fixture_submit_this(store, TENANT_DEFAULT, &bad, &id, NULL), ERROR_INVALID, "priority");
    bad = good;
    bad.items_total = -2;
    expect_error(
        fixture_submit_this(store, TENANT_DEFAULT, &bad, &id, NULL), ERROR_INVALID, "-2 items");
    bad = good;
    bad.state = JOB_STATE_SUCCEEDED;
    expect_error(fixture_submit_this(store, TENANT_DEFAULT, &bad, &id, NULL), ERROR_INVALID,
        "begin succeeded");
    bad = good;
    bad.executable.bytes[0] ^= 1;
    expect_error(
        fixture_submit_this(store, TENANT_DEFAULT, &bad, &id, NULL), ERROR_NOT_FOUND, "executable");
    expect_ok(fixture_submit_this(store, TENANT_DEFAULT, &good, &id, NULL));
    assert_int_equal(id.number, 1); /* what failed took no number */
}

/* Another tenant's executable is not there. */
static void test_jobs_submit_runs_only_the_tenants_own_models(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TenantId eve = fixture_add_tenant(store, "eve");
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    JobContent inputs = fixture_content(eve, "x");
    JobSubmission submission = fixture_submission(&executable, &inputs);
    JobId id;
    expect_error(
        fixture_submit_this(store, eve, &submission, &id, NULL), ERROR_NOT_FOUND, "executable");
}

static void test_jobs_submit_keeps_its_executable_from_removal(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    GcResult result;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    Digest executable = fixture_get(store, TENANT_DEFAULT, id).executable;
    expect_ok(models_remove(store, TENANT_DEFAULT, "m", NULL));
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.executables + result.chunks, 0);
    {
        OWN(StoredExecutable, open) = NULL;
        expect_ok(stored_executable_open(store, TENANT_DEFAULT, &executable, &open));
    }
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_FAILED, NULL)));
    expect_ok(fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, id)));
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.executables, 1);
    assert_int_equal(result.chunks, 2);
    fixture_expect_clean(store);
}

static void test_jobs_submit_stops_at_the_store_quota(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    (void)fixture_submit(store, TENANT_DEFAULT);
    Tenant tenant;
    expect_ok(tenants_get(store, TENANT_DEFAULT, &tenant));
    expect_ok(fixture_end(tenants_set_quota(fixture_begin(store), TENANT_DEFAULT, QUOTA_STORE_BYTES,
        (int64_t)tenant.bytes_stored + ROW_COST_CONTENT + ROW_COST_JOB + 3)));
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    JobContent inputs = fixture_content(TENANT_DEFAULT, "four"), less = fixture_content(1, "two");
    JobSubmission submission = fixture_submission(&executable, &inputs);
    JobId id;
    expect_error(fixture_submit_this(store, TENANT_DEFAULT, &submission, &id, NULL),
        ERROR_EXHAUSTED, "store_bytes is");
    expect_error(fixture_register(store, TENANT_DEFAULT, "big", 90, 3, 900, NULL, NULL),
        ERROR_EXHAUSTED, "tenant default: its quota store_bytes");
    submission.inputs = &less;
    expect_ok(fixture_submit_this(store, TENANT_DEFAULT, &submission, &id, NULL));
    fixture_expect_clean(store);
}

static void test_jobs_submit_remembers_where_a_job_came_from(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    JobContent inputs = fixture_content(TENANT_DEFAULT, "x");
    JobSubmission submission = fixture_submission(&executable, &inputs);
    submission.origin = (JobOrigin){JOB_ORIGIN_RELEASE, {77, 5}, 3};
    submission.state = JOB_STATE_SUSPENDED;
    submission.epoch = 4;
    submission.deadline = 5e9;
    submission.items_total = -1;
    submission.why = "restored";
    JobId id;
    OWN(JobEventList, events) = NULL;
    expect_ok(fixture_submit_this(store, TENANT_DEFAULT, &submission, &id, NULL));
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_int_equal(job.origin.kind, JOB_ORIGIN_RELEASE);
    assert_true(job_id_equal(job.origin.job, (JobId){77, 5}));
    assert_int_equal(job.origin.epoch, 3);
    assert_int_equal(job.epoch, 4);
    assert_int_equal(job.state, JOB_STATE_SUSPENDED);
    assert_int_equal(job.items_total, -1);
    assert_true(job.deadline == 5e9);
    expect_ok(job_events_list(store, TENANT_DEFAULT, id, 0, &events));
    assert_string_equal(events->items[0].why, "restored");
}

/* So many may rest; suspending is never refused, a new job is. */
static void test_jobs_submit_counts_resting_jobs(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId ids[2], id;
    for (int i = 0; i < 2; i++) ids[i] = fixture_submit(store, TENANT_DEFAULT);
    const Digest executable = fixture_get(store, TENANT_DEFAULT, ids[0]).executable;
    JobContent inputs = fixture_content(TENANT_DEFAULT, "inputs");
    JobSubmission submission = fixture_submission(&executable, &inputs);
    expect_ok(fixture_end(
        tenants_set_quota(fixture_begin(store), TENANT_DEFAULT, QUOTA_RESTING_JOBS, 2)));
    for (int i = 0; i < 2; i++) {
        expect_ok(fixture_submit_this(store, TENANT_DEFAULT, &submission, &id, NULL));
        expect_ok(fixture_end(jobs_transition(
            fixture_begin(store), TENANT_DEFAULT, ids[i], JOB_STATE_SUSPENDED, NULL)));
    }
    expect_error(fixture_submit_this(store, TENANT_DEFAULT, &submission, &id, NULL),
        ERROR_EXHAUSTED, "its quota resting_jobs is 2, and this would make it 3");
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_SUSPENDED, NULL)));
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, ids[0], JOB_STATE_CANCELLED, NULL)));
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_CANCELLED, NULL)));
    expect_ok(fixture_submit_this(store, TENANT_DEFAULT, &submission, &id, NULL));
}

TEST_GROUP(jobs_submit, cmocka_unit_test(test_jobs_submit_gives_each_job_another_id),
    cmocka_unit_test(test_jobs_submit_keeps_the_time_that_it_is_given),
    cmocka_unit_test(test_jobs_submit_answers_the_first_job_of_a_key),
    cmocka_unit_test(test_jobs_submit_refuses_what_it_cannot_store),
    cmocka_unit_test(test_jobs_submit_runs_only_the_tenants_own_models),
    cmocka_unit_test(test_jobs_submit_keeps_its_executable_from_removal),
    cmocka_unit_test(test_jobs_submit_stops_at_the_store_quota),
    cmocka_unit_test(test_jobs_submit_remembers_where_a_job_came_from),
    cmocka_unit_test(test_jobs_submit_counts_resting_jobs))
