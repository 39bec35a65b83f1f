#include "store/jobs/job_removals.h"

#include "store/database/removal_steps.h"
#include "store/upkeep/removals.h"
#include "store/database/row_costs.h"
#include "tests/store/removal_fixtures.h"

/* What a tombstone had goes in steps, too; it cannot become a job again before. */
static void test_job_removals_of_a_tombstones_contents(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    const atomic_bool never = false;
    bool found;
    JobId id = fixture_large_job(&home);
    fixture_run_sql(&home, "catalog.db",
        "UPDATE jobs SET state = 7, finished = NULL;"
        "UPDATE tenants SET bytes_stored = bytes_stored + " ROW_COST_TEXT(ROW_COST_TOMBSTONE));
    OWN(Store, store) = fixture_open(&home);
    expect_ok(fixture_end(jobs_drop_contents(fixture_begin(store), TENANT_DEFAULT, id)));
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_int_equal(job.state, JOB_STATE_RELEASED);
    assert_int_equal(job.bytes_stored, 0);
    expect_ok(job_removals_find(fixture_begin(store), job.row, &found));
    expect_ok(fixture_end(NULL));
    assert_true(found);
    fixture_expect_clean(store);
    expect_ok(removals_run(store, &never));
    expect_ok(job_removals_find(fixture_begin(store), job.row, &found));
    expect_ok(fixture_end(NULL));
    assert_false(found);
    assert_int_equal(fixture_count_rows(&home, "contents"), 0);
    assert_int_equal(fixture_count_rows(&home, "job_events"), LARGE_JOB_EVENTS); /* they stay */
    fixture_expect_clean(store);
}

/* A step deletes no more than it may, about; the job is gone with the last one. */
static void test_job_removals_keep_to_the_budget(void **state) {
    (void)state;
    enum { ROWS = 1000 };
    TestHome OWN_HOME(home) = fixture_home_make();
    JobId id = fixture_large_job(&home);
    OWN(Store, store) = fixture_open(&home);
    const Job job = fixture_get(store, TENANT_DEFAULT, id);
    expect_ok(fixture_end(job_removals_mark(fixture_begin(store), &job, true)));
    const int64_t contents = fixture_count_rows(&home, "contents");
    uint64_t rows = ROWS;
    expect_ok(fixture_end(job_removals_step(fixture_begin(store), job.row, &rows)));
    assert_int_equal(rows, 0);
    assert_int_equal(fixture_count_rows(&home, "contents"), contents - ROWS);
    for (int i = 0; i < 20 && fixture_count_rows(&home, "jobs") > 0; i++) {
        rows = REMOVAL_STEP_ROWS;
        expect_ok(fixture_end(job_removals_step(fixture_begin(store), job.row, &rows)));
    }
    assert_int_equal(fixture_count_rows(&home, "jobs"), 0);
    assert_int_equal(fixture_count_rows(&home, "contents"), 0);
    fixture_expect_clean(store);
}

TEST_GROUP(job_removals, cmocka_unit_test(test_job_removals_of_a_tombstones_contents),
    cmocka_unit_test(test_job_removals_keep_to_the_budget))
