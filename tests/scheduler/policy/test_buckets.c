#include "scheduler/policy/buckets.h"

#include "tests/scheduler/policy_fixture.h"

static void test_jobs_go_to_the_smallest_bucket_that_fits(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    assert_true(buckets_is_last(f.policy, buckets_fitting(f.policy, 1)));
    policy_add_device(&f, 0, 100 * MIB);
    policy_add_device(&f, 1, 300 * MIB);
    policy_add_device(&f, 2, 200 * MIB);
    assert_int_equal(buckets_fitting(f.policy, 1)->capacity, 100 * MIB);
    assert_int_equal(buckets_fitting(f.policy, 100 * MIB)->capacity, 100 * MIB);
    assert_int_equal(buckets_fitting(f.policy, 100 * MIB + 1)->capacity, 200 * MIB);
    assert_int_equal(buckets_fitting(f.policy, 300 * MIB)->capacity, 300 * MIB);
    assert_true(buckets_is_last(f.policy, buckets_fitting(f.policy, 300 * MIB + 1)));
}

static void test_sizes_of_memory_are_limited(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    for (uint64_t i = 0; i < POLICY_MEMORY_SIZES_MAX; i++) policy_add_device(&f, i, 100 + i);
    assert_fails_saying(INVALID, "64",
        policy_tell(&f,
            (PolicyEvent){
                .kind = POLICY_EVENT_DEVICE_ADDED, .device = 99, .memory_bytes = 1, .speed = 1}));
    policy_add_device(&f, 99, 100);
}

/* Jobs that waited for the larger devices are taken by a new size that fits them, too. */
static void test_a_new_size_takes_over_waiting_jobs(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_submit(&f, policy_job(1, 0));
    policy_add_device(&f, 0, 100 * MIB);
    policy_about_weights(&f, POLICY_EVENT_WEIGHTS_LOADED, 1, 0, true);
    policy_expect(&f, POLICY_ACTION_RUN, 1);
}

int test_buckets(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_go_to_the_smallest_bucket_that_fits),
        cmocka_unit_test(test_sizes_of_memory_are_limited),
        cmocka_unit_test(test_a_new_size_takes_over_waiting_jobs),
    };
    return cmocka_run_group_tests_name("buckets", tests, NULL, NULL);
}
