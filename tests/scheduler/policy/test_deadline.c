#include "scheduler/policy/deadline.h"

#include "tests/scheduler/policy_fixture.h"

static PolicyEvent job_until(uint64_t job, uint64_t tenant, uint64_t deadline_ns) {
    PolicyEvent event = policy_light_job(job, tenant);
    event.deadline_ns = deadline_ns;
    return event;
}

static const PolicyAction *estimate(PolicyFixture *f, uint64_t job, uint64_t device_time_ns) {
    assert_ok(policy_tell(
        f, (PolicyEvent){
               .kind = POLICY_EVENT_JOB_ESTIMATED, .job = job, .device_time_ns = device_time_ns}));
    return policy_action(f, POLICY_ACTION_PROMISE);
}

/* Slices of 10 ms; how many the job got of them. */
static uint64_t count_slices(PolicyFixture *f, int count, uint64_t wanted) {
    uint64_t got = 0;
    for (int i = 0; i < count; i++) {
        uint64_t job = policy_running(f, 0);
        got += job == wanted;
        policy_end_slice(f, job, 0, 10 * MS, POLICY_OUTCOME_SLICE_ENDED);
    }
    return got;
}

/* A tenant that gives its jobs deadlines does not starve its jobs that have none. */
static void test_jobs_without_a_deadline_keep_their_part(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    policy_submit(&f, job_until(1, 0, 1000000 * MS));
    policy_submit(&f, policy_light_job(2, 0));
    assert_in_range(count_slices(&f, 400, 2), 95, 105);
}

/* Also while the jobs with deadlines are ever new ones. */
static void test_new_deadlines_do_not_starve_the_others(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    uint64_t plain = 0, next = 100;
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    policy_submit(&f, policy_light_job(2, 0));
    for (int i = 0; i < 3; i++, next++) policy_submit(&f, job_until(next, 0, 1000000 * MS));
    for (int i = 0; i < 400; i++) {
        uint64_t job = policy_running(&f, 0);
        plain += job == 2;
        policy_end_slice(
            &f, job, 0, 10 * MS, job == 2 ? POLICY_OUTCOME_SLICE_ENDED : POLICY_OUTCOME_FINISHED);
        if (job != 2) policy_submit(&f, job_until(next++, 0, 1000000 * MS));
    }
    assert_in_range(plain, 95, 110);
}

/* One that has passed, at submission or later, orders nothing, and that is told once. */
static void test_a_passed_deadline_orders_nothing(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    policy_submit(&f, policy_light_job(1, 0));
    policy_submit(&f, job_until(2, 0, f.now_ns - MS));
    (void)policy_expect(&f, POLICY_ACTION_MISSED, 2);
    assert_in_range(count_slices(&f, 100, 2), 49, 51);
    policy_submit(&f, job_until(3, 0, f.now_ns + 25 * MS));
    (void)count_slices(&f, 10, 3);
    assert_in_range(count_slices(&f, 90, 3), 29, 31);
    assert_null(policy_action(&f, POLICY_ACTION_MISSED));
}

static void test_a_deadline_that_passes_is_told_at_its_time(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    assert_ok(policy_tell(&f, job_until(1, 0, f.now_ns + 25 * MS)));
    assert_int_equal(policy_action(&f, POLICY_ACTION_SET_TIMER)->ns, f.now_ns + 25 * MS);
    f.now_ns += 25 * MS;
    assert_ok(policy_tell(&f, (PolicyEvent){.kind = POLICY_EVENT_CLOCK}));
    (void)policy_expect(&f, POLICY_ACTION_MISSED, 1);
    policy_end_slice(&f, 1, 0, 10 * MS, POLICY_OUTCOME_FINISHED);
    assert_null(policy_action(&f, POLICY_ACTION_MISSED));
    /* one that ends in time misses nothing */
    policy_submit(&f, job_until(2, 0, f.now_ns + 100 * MS));
    policy_end_slice(&f, 2, 0, 10 * MS, POLICY_OUTCOME_FINISHED);
    assert_null(policy_action(&f, POLICY_ACTION_MISSED));
}

/* The promise is the job's device-time within the tenant's share, behind earlier deadlines. */
static void test_the_promise_counts_shares_and_earlier_deadlines(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    policy_submit(&f, job_until(1, 0, 100000 * MS));
    uint64_t alone = estimate(&f, 1, 1000 * MS)->ns;
    assert_true(alone >= f.now_ns + 1000 * MS && alone < f.now_ns + 2000 * MS);
    policy_submit(&f, policy_light_job(9, 1)); /* a tenant of twice the weight */
    uint64_t shared = estimate(&f, 1, 1000 * MS)->ns;
    assert_true(shared >= f.now_ns + 3000 * MS && shared < f.now_ns + 6000 * MS);
    policy_submit(&f, job_until(2, 0, 200000 * MS));
    uint64_t behind = estimate(&f, 2, 1000 * MS)->ns;
    assert_true(behind >= f.now_ns + 6000 * MS && behind < f.now_ns + 12000 * MS);
    policy_submit(&f, job_until(3, 0, 50000 * MS));
    uint64_t before = estimate(&f, 3, 1000 * MS)->ns; /* the later ones do not count */
    assert_int_equal(before - f.now_ns, shared - f.now_ns);
    policy_submit(&f, policy_light_job(4, 0));
    assert_null(estimate(&f, 4, 1000 * MS)); /* it has no deadline */
}

/* One device; tenant 1's job 9 of class high, and tenant 0's job 1 of class low with a deadline. */
static void begin_low_beside_high(PolicyFixture *f, uint64_t deadline_ns) {
    policy_fixture_init(f);
    policy_add_device(f, 0, 1000 * MIB);
    PolicyEvent busy = policy_light_job(9, 1);
    busy.class_ = POLICY_HIGH;
    policy_submit(f, busy);
    PolicyEvent low = job_until(1, 0, deadline_ns);
    low.class_ = POLICY_LOW;
    policy_submit(f, low);
}

/* A low job whose deadline is feasible ends in time though a class above it is never idle. */
static void test_a_feasible_deadline_is_kept_below_a_busy_class(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    begin_low_beside_high(&f, 5000 * MS);
    assert_true(estimate(&f, 1, 500 * MS)->ns <= 5000 * MS);
    uint64_t got = 0;
    while (got < 50) {
        uint64_t job = policy_running(&f, 0);
        got += job == 1;
        policy_end_slice(&f, job, 0, 10 * MS,
            got == 50 && job == 1 ? POLICY_OUTCOME_FINISHED : POLICY_OUTCOME_SLICE_ENDED);
        assert_null(policy_action(&f, POLICY_ACTION_MISSED));
    }
    assert_true(f.now_ns <= 5000 * MS);
}

/* One that cannot be met takes nothing from the classes above: it has the floor of its own. */
static void test_an_infeasible_deadline_stays_in_its_class(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    begin_low_beside_high(&f, 3000 * MS);
    assert_true(estimate(&f, 1, 5000 * MS)->ns > 3000 * MS);
    assert_in_range(count_slices(&f, 250, 1), 5, 20); /* five of a hundred, and what was owed */
}

/* A raised job is bounded by its tenant's share of the class that it came into, and goes back to
 * its own when the deadline passes. */
static void test_a_raised_job_is_bounded_by_its_share(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    PolicyEvent low = job_until(1, 0, 4000 * MS);
    low.class_ = POLICY_LOW;
    policy_submit(&f, low);
    assert_true(estimate(&f, 1, 2000 * MS)->ns <= 4000 * MS);
    policy_end_slice(&f, 1, 0, 10 * MS, POLICY_OUTCOME_SLICE_ENDED);
    PolicyEvent busy = policy_light_job(9, 1); /* came later, with twice the weight */
    busy.class_ = POLICY_HIGH;
    policy_submit(&f, busy);
    assert_in_range(count_slices(&f, 390, 1), 85, 120); /* a third, from its latest start on */
    (void)count_slices(&f, 100, 1);
    assert_true(f.now_ns > 4000 * MS);
    assert_in_range(count_slices(&f, 200, 1), 5, 25);
}

int test_deadline(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_without_a_deadline_keep_their_part),
        cmocka_unit_test(test_new_deadlines_do_not_starve_the_others),
        cmocka_unit_test(test_a_passed_deadline_orders_nothing),
        cmocka_unit_test(test_a_deadline_that_passes_is_told_at_its_time),
        cmocka_unit_test(test_the_promise_counts_shares_and_earlier_deadlines),
        cmocka_unit_test(test_a_feasible_deadline_is_kept_below_a_busy_class),
        cmocka_unit_test(test_an_infeasible_deadline_stays_in_its_class),
        cmocka_unit_test(test_a_raised_job_is_bounded_by_its_share),
    };
    return cmocka_run_group_tests_name("deadline", tests, NULL, NULL);
}
