#include "scheduler/simulate/checker.h"

#include "tests/support/test_support.h"

static const CheckerSizes sizes = {
    .tenant_count = 1, .device_count = 1, .model_count = 1, .job_count = 2};

static void submit(Checker *checker, uint64_t job) {
    const PolicyEvent event = {.kind = POLICY_EVENT_JOB_SUBMITTED, .job = job, .weight = 1};
    const PolicyAction accept = {.kind = POLICY_ACTION_ACCEPT, .job = job};
    assert_ok(checker_apply(checker, &event, &accept, 1));
}

static void add_tenant(Checker *checker, uint64_t queued_jobs) {
    const PolicyEvent event = {.kind = POLICY_EVENT_TENANT_SET,
        .weight = 1,
        .queued_jobs = queued_jobs,
        .running_jobs = 1,
        .device_bytes = POLICY_NO_LIMIT,
        .host_bytes = POLICY_NO_LIMIT,
        .device_seconds_per_hour = POLICY_NO_LIMIT};
    assert_ok(checker_apply(checker, &event, NULL, 0));
}

static void test_the_checker_notices_jobs_that_are_forgotten(void **state) {
    (void)state;
    OWN(Checker, checker) = NULL;
    assert_ok(checker_create(&sizes, &checker));
    add_tenant(checker, 5);
    submit(checker, 1);
    assert_ok(checker_finish(checker));
    assert_int_equal(checker_violation_count(checker), 1);
    assert_non_null(strstr(checker_violation(checker, 0), "wait for ever"));
    assert_string_equal(checker_violation(checker, 1), "");
}

static void test_the_checker_notices_a_quota_that_is_passed(void **state) {
    (void)state;
    OWN(Checker, checker) = NULL;
    assert_ok(checker_create(&sizes, &checker));
    add_tenant(checker, 1);
    submit(checker, 1);
    assert_int_equal(checker_violation_count(checker), 0);
    submit(checker, 2);
    assert_non_null(strstr(checker_violation(checker, 0), "quota queued_jobs: 2"));
    submit(checker, 2); /* twice */
    assert_non_null(strstr(checker_violation(checker, 1), "not submitted"));
}

int test_checker(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_checker_notices_jobs_that_are_forgotten),
        cmocka_unit_test(test_the_checker_notices_a_quota_that_is_passed),
    };
    return cmocka_run_group_tests_name("checker", tests, NULL, NULL);
}
