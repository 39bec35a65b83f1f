#include "store/upkeep/removals.h"

#include "store/database/removal_steps.h"
#include "tests/store/removal_fixtures.h"

static uint64_t tenant_bytes(Store *store) {
    Tenant tenant;
    expect_ok(tenants_get(store, TENANT_DEFAULT, &tenant));
    return tenant.bytes_stored;
}

static void expect_gone(Store *store, JobId id) {
    OWN(JobList, list) = NULL;
    Job job;
    TenantId tenant;
    size_t counts[JOB_STATE_COUNT];
    expect_error(jobs_get(store, TENANT_DEFAULT, id, &job), ERROR_NOT_FOUND, "no job");
    expect_error(jobs_find_tenant(store, id, &tenant), ERROR_NOT_FOUND, "no job");
    expect_ok(jobs_list(store, JOBS_OF_ALL_TENANTS, JOB_STATE_NONE, 0, 100, &list));
    assert_int_equal(list->count, 0);
    job_list_release(TAKE(list));
    expect_ok(jobs_list(store, TENANT_DEFAULT, JOB_STATE_NONE, 0, 100, &list));
    assert_int_equal(list->count, 0);
    expect_ok(jobs_count(store, counts));
    for (int i = 0; i < JOB_STATE_COUNT; i++) assert_int_equal(counts[i], 0);
}

static void test_removals_take_bounded_steps(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    const atomic_bool never = false;
    JobId id = fixture_large_job(&home);
    OWN(Store, store) = fixture_open(&home);
    CommitWatch watch;
    fixture_expect_clean(store);
    uint64_t before = tenant_bytes(store);
    commit_watch(store, &watch);
    expect_ok(fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, id)));
    expect_gone(store, id); /* at once */
    assert_true(fixture_count_rows(&home, "contents") > LARGE_JOB_OUTPUTS / 2);
    assert_true(tenant_bytes(store) < before);
    fixture_expect_clean(store); /* what is marked is counted, too */
    uint64_t marked = tenant_bytes(store);
    expect_ok(removals_run(store, &never));
    /* with an event its tenant's row, which gets back what it cost */
    assert_in_range(watch.most, REMOVAL_STEP_ROWS / 2, 2 * REMOVAL_STEP_ROWS + 100);
    assert_true(watch.commits >= (LARGE_JOB_OUTPUTS + LARGE_JOB_EVENTS) / REMOVAL_STEP_ROWS);
    commit_unwatch(&watch);
    assert_true(tenant_bytes(store) < marked);
    assert_int_equal(fixture_count_rows(&home, "contents"), 0);
    assert_int_equal(fixture_count_rows(&home, "job_events"), 0);
    assert_int_equal(fixture_count_rows(&home, "jobs"), 0);
    assert_int_equal(fixture_count_rows(&home, "job_removals"), 0);
    fixture_expect_clean(store);
}

/* The mark is durable: whoever opens the home next goes on. */
static void test_removals_go_on_after_a_restart(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    const atomic_bool stopped = true;
    GcResult result;
    JobId id = fixture_large_job(&home);
    {
        OWN(Store, store) = fixture_open(&home);
        expect_ok(fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, id)));
        expect_ok(removals_run(store, &stopped));
    }
    assert_true(fixture_count_rows(&home, "contents") > 0);
    OWN(Store, store) = fixture_open(&home);
    expect_gone(store, id);
    expect_ok(
        models_remove(store, TENANT_DEFAULT, "m", NULL)); /* the job holds its model no more */
    expect_ok(gc_run(store, &result));
    assert_int_equal(fixture_count_rows(&home, "contents"), 0);
    assert_int_equal(tenant_bytes(store), 0);
    fixture_expect_clean(store);
}

static void test_removals_of_the_retention_share_a_step(void **state) {
    (void)state;
    enum { JOBS = 3 };
    TestHome OWN_HOME(home) = fixture_home_make();
    CommitWatch watch;
    size_t count;
    JobId ids[JOBS];
    for (int i = 0; i < JOBS; i++) ids[i] = fixture_large_job(&home);
    OWN(Store, store) = fixture_open(&home);
    commit_watch(store, &watch);
    expect_ok(fixture_end(jobs_expire(fixture_begin(store), TENANT_DEFAULT, 1e12, 100, &count)));
    assert_int_equal(count, JOBS);
    assert_in_range(watch.most, 1, REMOVAL_STEP_ROWS + 100);
    commit_unwatch(&watch);
    for (int i = 0; i < JOBS; i++) expect_gone(store, ids[i]);
}

TEST_GROUP(removals, cmocka_unit_test(test_removals_take_bounded_steps),
    cmocka_unit_test(test_removals_go_on_after_a_restart),
    cmocka_unit_test(test_removals_of_the_retention_share_a_step))
