#include "tests/store/job_fixtures.h"

static void move(Store *store, JobId id, JobState state) {
    expect_ok(fixture_end(jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, state, NULL)));
}

/* Each state once, and queued twice: those on the way to it are counted in it alone. */
static void test_jobs_count_knows_every_state(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    size_t counts[JOB_STATE_COUNT];
    expect_ok(jobs_count(store, counts));
    for (int i = 0; i < JOB_STATE_COUNT; i++) assert_int_equal(counts[i], 0);
    JobId other = fixture_submit(store, fixture_add_tenant(store, "ada"));
    assert_true(other.number > 0);
    fixture_submit(store, TENANT_DEFAULT);
    for (int i = 1; i < JOB_STATE_COUNT; i++)
        if (job_state_allows(JOB_STATE_QUEUED, (JobState)i))
            move(store, fixture_submit(store, TENANT_DEFAULT), (JobState)i);
    expect_ok(jobs_count(store, counts));
    assert_int_equal(counts[JOB_STATE_QUEUED], 2);
    for (int i = 1; i < JOB_STATE_COUNT; i++)
        if (i != JOB_STATE_QUEUED)
            assert_int_equal(counts[i], job_state_allows(JOB_STATE_QUEUED, (JobState)i));
}

TEST_GROUP(jobs_count, cmocka_unit_test(test_jobs_count_knows_every_state))
