#include "scheduler/policy/device_index.h"

#include "tests/scheduler/policy_fixture.h"

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

static void test_devices_are_decided_about_once_and_in_turn(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    for (uint64_t i = 0; i < 2; i++) policy_add_device(&f, i, 100 * MIB);
    Device *first = id_map_find(&f.policy->devices, 0, 0);
    Device *second = id_map_find(&f.policy->devices, 0, 1);
    device_index_decide_later(f.policy, second);
    device_index_decide_later(f.policy, first);
    device_index_decide_later(f.policy, second);
    assert_null(device_index_idle(f.policy, 1)); /* they are about to change */
    assert_ptr_equal(device_index_take_deciding(f.policy), second);
    assert_ptr_equal(device_index_take_deciding(f.policy), first);
    assert_null(f.policy->deciding);
}

static void test_stuck_devices_are_looked_at_again_after_a_second(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 100 * MIB);
    Device *device = id_map_find(&f.policy->devices, 0, 0);
    device_index_add_stuck(f.policy, device);
    device_index_add_stuck(f.policy, device);
    assert_int_equal(f.policy->stuck_ns, f.policy->now_ns + 1000 * MS);
    device_index_free_stuck(f.policy);
    assert_null(f.policy->stuck);
    assert_false(device->stuck);
    assert_ptr_equal(device_index_take_deciding(f.policy), device);
    assert_int_not_equal(f.policy->stuck_ns, 0); /* failed moves are tried again only then */
    f.policy->now_ns = f.policy->stuck_ns;
    device_index_free_stuck(f.policy);
    assert_int_equal(f.policy->stuck_ns, 0);
}

int test_device_index(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle_devices_by_speed_then_by_size),
        cmocka_unit_test(test_devices_are_decided_about_once_and_in_turn),
        cmocka_unit_test(test_stuck_devices_are_looked_at_again_after_a_second),
    };
    return cmocka_run_group_tests_name("device_index", tests, NULL, NULL);
}
