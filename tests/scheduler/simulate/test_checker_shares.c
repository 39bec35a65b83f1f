#include "scheduler/simulate/checker.h"

#include "tests/support/test_support.h"

#define MS ((uint64_t)1000000)

static void tell(Checker *checker, PolicyEvent event, PolicyAction action) {
    assert_ok(checker_apply(checker, &event, &action, action.kind ? 1 : 0));
}

/* Two tenants of equal weight, both ready on the only device from the start. */
static void begin(Checker *checker, PolicyClass second) {
    const PolicyAction none = {0};
    tell(checker,
        (PolicyEvent){.kind = POLICY_EVENT_CONFIG,
            .quantum_ns = 10 * MS,
            .floor_permille = 50,
            .floor_window_ns = 1000 * MS},
        none);
    for (uint64_t i = 0; i < 2; i++)
        tell(checker,
            (PolicyEvent){.kind = POLICY_EVENT_TENANT_SET,
                .tenant = i,
                .weight = 1,
                .running_jobs = 9,
                .queued_jobs = 9,
                .device_bytes = POLICY_NO_LIMIT,
                .host_bytes = POLICY_NO_LIMIT,
                .device_seconds_per_hour = POLICY_NO_LIMIT},
            none);
    tell(checker, (PolicyEvent){.kind = POLICY_EVENT_DEVICE_ADDED, .memory_bytes = 100, .speed = 1},
        (PolicyAction){.kind = POLICY_ACTION_LOAD_WEIGHTS});
    for (uint64_t i = 0; i < 2; i++) {
        tell(checker,
            (PolicyEvent){.kind = POLICY_EVENT_JOB_SUBMITTED,
                .job = i + 1,
                .tenant = i,
                .weight = 1,
                .class_ = i ? (uint64_t)second : POLICY_HIGH},
            (PolicyAction){.kind = POLICY_ACTION_ACCEPT, .job = i + 1});
        tell(checker, (PolicyEvent){.kind = POLICY_EVENT_CLOCK},
            (PolicyAction){.kind = POLICY_ACTION_GRANT, .job = i + 1, .bytes = 1});
    }
}

/* The first job alone gets so many slices; how many violations that makes. */
static uint64_t run_first(PolicyClass second, int slices) {
    OWN(Checker, checker) = NULL;
    const CheckerSizes sizes = {
        .tenant_count = 2, .device_count = 1, .model_count = 1, .job_count = 2};
    assert_ok(checker_create(&sizes, &checker));
    begin(checker, second);
    for (int i = 0; i < slices; i++) {
        tell(checker, (PolicyEvent){.kind = POLICY_EVENT_CLOCK},
            (PolicyAction){.kind = POLICY_ACTION_RUN, .job = 1});
        tell(checker,
            (PolicyEvent){.kind = POLICY_EVENT_SLICE_ENDED, .job = 1, .device_time_ns = 10 * MS},
            (PolicyAction){0});
    }
    assert_int_equal(checker_tenant(checker, 0).device_ns, (uint64_t)slices * 10 * MS);
    return checker_violation_count(checker);
}

static void test_the_checker_notices_unfair_shares(void **state) {
    (void)state;
    assert_int_equal(run_first(POLICY_HIGH, 2), 0); /* a slice each is the bound */
    assert_int_equal(run_first(POLICY_HIGH, 3), 1);
}

static void test_the_checker_notices_floors_that_are_not_paid(void **state) {
    (void)state;
    assert_int_equal(run_first(POLICY_LOW, 100), 0);
    assert_true(run_first(POLICY_LOW, 200) > 0);
}

int test_checker_shares(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_checker_notices_unfair_shares),
        cmocka_unit_test(test_the_checker_notices_floors_that_are_not_paid),
    };
    return cmocka_run_group_tests_name("checker_shares", tests, NULL, NULL);
}
