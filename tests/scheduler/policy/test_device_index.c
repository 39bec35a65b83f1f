#include "scheduler/policy/device_index.h"

#include "tests/scheduler/policy_fixture.h"

static void test_jobs_go_to_the_smallest_bucket_that_fits(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    assert_true(device_index_is_last(f.policy, device_index_fitting(f.policy, 1)));
    policy_add_device(&f, 0, 100 * MIB);
    policy_add_device(&f, 1, 300 * MIB);
    policy_add_device(&f, 2, 200 * MIB);
    assert_int_equal(device_index_fitting(f.policy, 1)->capacity, 100 * MIB);
    assert_int_equal(device_index_fitting(f.policy, 100 * MIB)->capacity, 100 * MIB);
    assert_int_equal(device_index_fitting(f.policy, 100 * MIB + 1)->capacity, 200 * MIB);
    assert_int_equal(device_index_fitting(f.policy, 300 * MIB)->capacity, 300 * MIB);
    assert_true(device_index_is_last(f.policy, device_index_fitting(f.policy, 300 * MIB + 1)));
}

static void test_idle_devices_by_speed_then_by_size(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 200 * MIB);
    policy_add_device(&f, 1, 100 * MIB);
    assert_int_equal(device_index_idle(f.policy, 1)->key.low, 1);
    assert_int_equal(device_index_idle(f.policy, 150 * MIB)->key.low, 0);
    assert_null(device_index_idle(f.policy, 201 * MIB));
    assert_ok(policy_tell(&f, (PolicyEvent){.kind = POLICY_EVENT_DEVICE_ADDED,
                                  .device = 0,
                                  .memory_bytes = 200 * MIB,
                                  .speed = 9}));
    assert_int_equal(device_index_idle(f.policy, 1)->key.low, 0);
    policy_start(&f, policy_job(1, 0));
    assert_int_equal(policy_running(&f, 0), 1);
    assert_int_equal(device_index_idle(f.policy, 1)->key.low, 1);
    assert_null(device_index_lower(f.policy, 1, POLICY_NORMAL));
    assert_int_equal(device_index_lower(f.policy, 1, POLICY_HIGH)->key.low, 0);
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

int test_device_index(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_go_to_the_smallest_bucket_that_fits),
        cmocka_unit_test(test_idle_devices_by_speed_then_by_size),
        cmocka_unit_test(test_sizes_of_memory_are_limited),
        cmocka_unit_test(test_a_new_size_takes_over_waiting_jobs),
    };
    return cmocka_run_group_tests_name("device_index", tests, NULL, NULL);
}
