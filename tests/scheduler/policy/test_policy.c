#include "scheduler/policy/policy.h"

#include "tests/scheduler/policy_fixture.h"

static void test_policy_runs_a_job_to_its_end(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 100 * MIB);
    policy_submit(&f, policy_job(1, 0));
    policy_expect(&f, POLICY_ACTION_ACCEPT, 1);
    assert_int_equal(policy_action(&f, POLICY_ACTION_LOAD_WEIGHTS)->bytes, 10 * MIB);
    assert_int_equal(policy_expect(&f, POLICY_ACTION_GRANT, 1)->bytes, MIB);
    assert_null(policy_action(&f, POLICY_ACTION_RUN));
    policy_about_weights(&f, POLICY_EVENT_WEIGHTS_LOADED, 1, 0, true);
    assert_int_equal(policy_expect(&f, POLICY_ACTION_RUN, 1)->ns, 10 * MS);
    policy_end_slice(&f, 1, 0, 10 * MS, POLICY_OUTCOME_SLICE_ENDED);
    policy_expect(&f, POLICY_ACTION_RUN, 1);
    policy_end_slice(&f, 1, 0, 3 * MS, POLICY_OUTCOME_FINISHED);
    assert_int_equal(f.action_count, 0);
    PolicyJobView view;
    assert_false(policy_find_job(f.policy, 1, &view));
}

/* An event that makes no sense leaves everything as it was, the clock too. */
static void test_policy_refuses_nonsense_without_a_trace(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 100 * MIB);
    policy_start(&f, policy_job(1, 0));
    uint64_t digest = policy_get_digest(f.policy), now_ns = f.now_ns;
    const PolicyEvent nonsense[] = {{.kind = POLICY_EVENT_DEVICE_LOST, .device = 9},
        {.kind = POLICY_EVENT_SLICE_ENDED, .job = 1, .device = 9},
        {.kind = POLICY_EVENT_SLICE_ENDED, .job = 2},
        {.kind = POLICY_EVENT_MOVED_OUT, .job = 1, .worked = 1},
        {.kind = POLICY_EVENT_MOVED_IN, .job = 1, .worked = 1},
        {.kind = POLICY_EVENT_WEIGHTS_LOADED, .model = 1, .worked = 1},
        {.kind = POLICY_EVENT_WEIGHTS_EVICTED, .model = 1},
        {.kind = POLICY_EVENT_UNBLOCKED, .job = 1},
        {.kind = POLICY_EVENT_RESUME_REQUESTED, .job = 1, .device = POLICY_NO_DEVICE},
        {.kind = POLICY_EVENT_RESUME_REQUESTED, .job = 1, .device = 7},
        {.kind = POLICY_EVENT_DEVICE_ADDED, .memory_bytes = 5, .speed = 1},
        {.kind = POLICY_EVENT_DEVICE_ADDED,
            .device = POLICY_NO_DEVICE,
            .memory_bytes = 5,
            .speed = 1}};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        f.now_ns += MS;
        Error *error = policy_tell(&f, nonsense[i]);
        assert_non_null(error);
        error_free(error);
    }
    assert_fails(CONFLICT, policy_tell(&f, policy_job(1, 0)));
    assert_fails(NOT_FOUND, policy_tell(&f, policy_job(2, 77)));
    assert_int_equal(policy_get_digest(f.policy), digest);
    f.now_ns = now_ns; /* still a time that may come */
    policy_end_slice(&f, 1, 0, MS, POLICY_OUTCOME_FINISHED);
    f.now_ns = 5;
    assert_fails_saying(
        INVALID, "time goes back", policy_tell(&f, (PolicyEvent){.kind = POLICY_EVENT_CLOCK}));
}

static void test_a_waiting_job_takes_256_bytes_at_most(void **state) {
    (void)state;
    assert_true(policy_bytes_per_job() <= 256);
}

int test_policy(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policy_runs_a_job_to_its_end),
        cmocka_unit_test(test_policy_refuses_nonsense_without_a_trace),
        cmocka_unit_test(test_a_waiting_job_takes_256_bytes_at_most),
    };
    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
