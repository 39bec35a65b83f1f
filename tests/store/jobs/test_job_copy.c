#include "store/jobs/job_copy.h"

#include <string.h>

#include "store/jobs/job_copy_internal.h"
#include "store/upkeep/removals.h"
#include "store/database/row_costs.h"
#include "tests/store/removal_fixtures.h"

enum { OUTPUTS = 5000, BEFORE = 4500 /* the checkpoint */ };

static const atomic_bool never = false;

static JobId make_large_job(const TestHome *home) {
    int64_t number;
    OWN(Store, store) = fixture_open(home);
    const JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(fixture_add_checkpoint(store, id, "point", 5, 0, 5, &number));
    const int64_t row = fixture_get(store, TENANT_DEFAULT, id).row;
    store_close(TAKE(store));
    fixture_make_outputs(home, row, OUTPUTS, OUTPUTS);
    char sql[80];
    (void)snprintf(sql, sizeof sql, "UPDATE contents SET outputs = %d WHERE kind = 3", BEFORE);
    fixture_run_sql(home, "catalog.db", sql);
    return id;
}

static Error *step(Store *store, JobId id, JobCopy *copy) {
    return fixture_end(jobs_fork(fixture_begin(store), TENANT_DEFAULT, id, 0, copy));
}

static Tenant tenant_now(Store *store) {
    Tenant tenant;
    expect_ok(tenants_get(store, TENANT_DEFAULT, &tenant));
    return tenant;
}

static size_t count_jobs(Store *store) {
    OWN(JobList, list) = NULL;
    expect_ok(jobs_list(store, JOBS_OF_ALL_TENANTS, JOB_STATE_NONE, 0, 100, &list));
    return list->count;
}

static int64_t count_contents(const TestHome *home) {
    return fixture_read_sql(home, "catalog.db", "SELECT count(*) FROM contents");
}

/* Between two steps the new job is nobody's, what it has is counted, and others write. */
static void test_job_copy_takes_bounded_steps(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    const JobId id = make_large_job(&home);
    OWN(Store, store) = fixture_open(&home);
    JobCopy OWN_JOB_COPY(copy) = {0};
    CommitWatch watch;
    Job job;
    int steps = 0;
    const Tenant before = tenant_now(store);
    commit_watch(store, &watch);
    for (; !copy.done; steps++) {
        expect_ok(step(store, id, &copy));
        if (copy.done) break;
        assert_int_equal(count_jobs(store), 1);
        expect_error(
            jobs_get(store, TENANT_DEFAULT, copy.job.id, &job), ERROR_NOT_FOUND, "no job ");
        fixture_expect_clean(store);
        expect_ok(removals_run(store, &never)); /* it is being made */
        expect_ok(fixture_end(jobs_add_note(fixture_begin(store), TENANT_DEFAULT, id, "between")));
    }
    commit_unwatch(&watch);
    assert_int_equal(steps, BEFORE / JOB_COPY_STEP_ROWS);
    assert_in_range(watch.most, JOB_COPY_STEP_ROWS, JOB_COPY_STEP_ROWS + 100);
    job_copy_deinit(&copy);
    job = fixture_get(store, TENANT_DEFAULT, copy.id);
    assert_int_equal(job.state, JOB_STATE_QUEUED);
    assert_int_equal(job.output_count, BEFORE);
    assert_int_equal(job.outputs_visible, BEFORE);
    assert_int_equal(job.items_done, 5);
    assert_int_equal(job.origin.kind, JOB_ORIGIN_FORK);
    assert_true(job_id_equal(job.origin.job, id));
    assert_int_equal(tenant_now(store).output_bytes, before.output_bytes + 10 * BEFORE);
    assert_string_equal(
        fixture_read_text(store, TENANT_DEFAULT, copy.id, JOB_CONTENT_INPUTS, 0), "inputs");
    assert_string_equal(
        fixture_read_text(store, TENANT_DEFAULT, copy.id, JOB_CONTENT_CHECKPOINT, 1), "point");
    fixture_expect_clean(store);
    expect_ok(removals_run(store, &never)); /* it stays */
    assert_int_equal(count_contents(&home), OUTPUTS + BEFORE + 4);
    /* both hold their model */
    assert_int_equal(fixture_read_sql(&home, "catalog.db",
                         "SELECT count(*) FROM jobs WHERE executable IS NOT NULL"),
        2);
}

/* What a process leaves of it the next one deletes, and gives back to the tenant. */
static void test_job_copy_that_a_process_leaves(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    const JobId id = make_large_job(&home);
    Tenant before;
    {
        OWN(Store, store) = fixture_open(&home);
        JobCopy copy = {0};
        before = tenant_now(store);
        for (int i = 0; i < 3; i++) expect_ok(step(store, id, &copy));
        assert_false(copy.done);
    }
    assert_true(count_contents(&home) > OUTPUTS + 2 * JOB_COPY_STEP_ROWS);
    OWN(Store, store) = fixture_open(&home);
    assert_int_equal(count_jobs(store), 1);
    fixture_expect_clean(store);
    expect_ok(removals_run(store, &never));
    assert_int_equal(count_contents(&home), OUTPUTS + 2);
    assert_int_equal(fixture_read_sql(&home, "catalog.db", "SELECT count(*) FROM jobs"), 1);
    const Tenant after = tenant_now(store);
    assert_int_equal(after.bytes_stored, before.bytes_stored);
    assert_int_equal(after.output_bytes, before.output_bytes);
    fixture_expect_clean(store);
}

/* One that is given up, for what happens between two steps: nothing of it stays. */
static void expect_given_up(const TestHome *home, Store *store, JobCopy *copy, int64_t contents) {
    job_copy_deinit(copy);
    expect_ok(removals_run(store, &never));
    assert_int_equal(count_contents(home), contents);
    fixture_expect_clean(store);
}

static void test_job_copy_of_a_job_that_goes(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    const JobId id = make_large_job(&home);
    OWN(Store, store) = fixture_open(&home);
    JobCopy first = {0}, second = {0};
    expect_ok(step(store, id, &first));
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_RELEASED, NULL)));
    expect_error(step(store, id, &first), ERROR_CONFLICT, "went elsewhere while its outputs");
    expect_given_up(&home, store, &first, OUTPUTS + 2);
    fixture_run_sql(&home, "catalog.db", "UPDATE jobs SET state = 2");
    fixture_run_sql(&home, "catalog.db",
        "UPDATE tenants SET bytes_stored = bytes_stored - " ROW_COST_TEXT(ROW_COST_TOMBSTONE));
    expect_ok(step(store, id, &second));
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_CANCELLED, NULL)));
    expect_ok(fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, id)));
    expect_error(step(store, id, &second), ERROR_NOT_FOUND, "no job ");
    expect_given_up(&home, store, &second, 0);
    assert_int_equal(count_jobs(store), 0);
}

static void test_job_copy_beyond_a_quota(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    const JobId id = make_large_job(&home);
    OWN(Store, store) = fixture_open(&home);
    JobCopy OWN_JOB_COPY(copy) = {0};
    Error *error = NULL;
    const int64_t before = (int64_t)tenant_now(store).output_bytes;
    expect_ok(fixture_end(tenants_set_quota(
        fixture_begin(store), TENANT_DEFAULT, QUOTA_OUTPUT_BYTES, before + 10 * (BEFORE - 1))));
    while (!copy.done && !error) error = step(store, id, &copy);
    expect_error(error, ERROR_EXHAUSTED, "its quota output_bytes is");
    assert_int_equal(copy.outputs, BEFORE / JOB_COPY_STEP_ROWS * JOB_COPY_STEP_ROWS);
    expect_given_up(&home, store, &copy, OUTPUTS + 2);
    assert_int_equal(tenant_now(store).output_bytes, before);
}

/* Large outputs make a step of fewer. */
static void test_job_copy_counts_bytes(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    const JobId id = make_large_job(&home);
    fixture_run_sql(&home, "catalog.db",
        "UPDATE contents SET bytes = zeroblob(40 << 20) WHERE kind = 2 AND sequence < 3");
    OWN(Store, store) = fixture_open(&home);
    JobCopy OWN_JOB_COPY(copy) = {0};
    expect_ok(step(store, id, &copy));
    assert_int_equal(copy.outputs, 2);
}

TEST_GROUP(job_copy, cmocka_unit_test(test_job_copy_takes_bounded_steps),
    cmocka_unit_test(test_job_copy_that_a_process_leaves),
    cmocka_unit_test(test_job_copy_of_a_job_that_goes),
    cmocka_unit_test(test_job_copy_beyond_a_quota), cmocka_unit_test(test_job_copy_counts_bytes))
