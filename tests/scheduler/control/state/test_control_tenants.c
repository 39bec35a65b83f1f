#include "scheduler/control/state/control_tenants.h"

#include "scheduler/control/state/policy_driver.h"
#include "tests/scheduler/control/control_world.h"

/* The policy is told of a tenant once, and again when a quota has changed. */
static void test_control_tenants_are_told_when_they_change(void **state) {
    (void)state;
    static ControlWorld world;
    control_world_init(&world, 1);
    const PolicyDriver *driver = world.control->driver;
    assert_null(control_find_tenant(world.control, 1));
    for (int i = 0; i < 2; i++) assert_ok(control_tell_tenant(world.control, 1));
    assert_int_equal(driver->event_count, 1);
    assert_int_equal(driver->events[0].kind, POLICY_EVENT_TENANT_SET);
    assert_int_equal(driver->events[0].tenant, 1);
    control_find_tenant(world.control, 1)->told.running_jobs++; /* it was told of another quota */
    assert_ok(control_tell_tenant(world.control, 1));
    assert_int_equal(driver->event_count, 2);
    assert_int_equal(driver->events[1].running_jobs, driver->events[0].running_jobs);
    control_world_deinit(&world);
}

int test_control_tenants(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_tenants_are_told_when_they_change),
    };
    return cmocka_run_group_tests_name("control_tenants", tests, NULL, NULL);
}
