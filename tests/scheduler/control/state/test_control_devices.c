#include "scheduler/control/state/control_devices.h"

#include "tests/scheduler/control/control_world.h"

static void test_control_devices_are_found_by_name(void **state) {
    (void)state;
    static ControlWorld world;
    uint64_t device = 7;
    control_world_init(&world, 1);
    assert_int_equal(control_device_count(world.control), 2);
    assert_ok(control_find_device(world.control, "west", &device));
    assert_int_equal(device, 1);
    assert_ok(control_find_device(world.control, "", &device));
    assert_int_equal(device, POLICY_NO_DEVICE);
    assert_fails_saying(NOT_FOUND, "there is no device north here",
        control_find_device(world.control, "north", &device));
    control_world_deinit(&world);
}

/* A job waits for a lost device that it demands, and for any device when all are lost. */
static void test_control_devices_are_awaited_while_they_are_lost(void **state) {
    (void)state;
    static ControlWorld world;
    control_world_init(&world, 1);
    assert_null(control_awaited_device(world.control, 1));
    for (int i = 0; i < 2; i++) control_lose_device(world.control, 1);
    assert_int_equal(world.control->devices->items[1].presence.state, DEVICE_PRESENCE_LOST);
    assert_string_equal(control_awaited_device(world.control, 1), "west");
    assert_null(control_awaited_device(world.control, 0));
    assert_null(control_awaited_device(world.control, POLICY_NO_DEVICE));
    control_lose_device(world.control, 0);
    assert_non_null(control_awaited_device(world.control, POLICY_NO_DEVICE));
    assert_ok(control_check(world.control));
    control_world_deinit(&world);
}

int test_control_devices(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_devices_are_found_by_name),
        cmocka_unit_test(test_control_devices_are_awaited_while_they_are_lost),
    };
    return cmocka_run_group_tests_name("control_devices", tests, NULL, NULL);
}
