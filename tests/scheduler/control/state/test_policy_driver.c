#include "scheduler/control/state/policy_driver.h"

#include "tests/scheduler/control/control_world.h"

/* Events wait in their order, each with its time, until they are applied or dropped. */
static void test_policy_driver_keeps_events_in_their_order(void **state) {
    (void)state;
    static ControlWorld world;
    control_world_init(&world, 1);
    const PolicyDriver *driver = world.control->driver;
    assert_int_equal(driver->event_count, 0);
    control_post_event(world.control, (PolicyEvent){.kind = POLICY_EVENT_CLOCK});
    world.clock.now_ns += 5;
    control_post_event(world.control, (PolicyEvent){.kind = POLICY_EVENT_UNBLOCKED, .job = 7});
    assert_int_equal(driver->event_count, 2);
    assert_int_equal(driver->events[0].kind, POLICY_EVENT_CLOCK);
    assert_int_equal(driver->events[1].kind, POLICY_EVENT_UNBLOCKED);
    assert_int_equal(driver->events[1].job, 7);
    assert_int_equal(driver->events[1].time_ns - driver->events[0].time_ns, 5);
    control_drop_events(world.control);
    assert_int_equal(driver->event_count, 0);
    control_world_deinit(&world);
}

/* The policy's timer posts one CLOCK event, when it is over. */
static void test_policy_driver_posts_the_clock_once(void **state) {
    (void)state;
    static ControlWorld world;
    control_world_init(&world, 1);
    PolicyDriver *driver = world.control->driver;
    driver->timer_ns = world.clock.now_ns + 10;
    assert_int_equal(control_clock_due_ns(world.control), world.clock.now_ns + 10);
    control_post_clock(world.control, world.clock.now_ns + 9);
    assert_int_equal(driver->event_count, 0);
    for (int i = 0; i < 2; i++) control_post_clock(world.control, world.clock.now_ns + 10);
    assert_int_equal(driver->event_count, 1);
    assert_int_equal(driver->events[0].kind, POLICY_EVENT_CLOCK);
    assert_int_equal(control_clock_due_ns(world.control), 0);
    control_world_deinit(&world);
}

int test_policy_driver(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policy_driver_keeps_events_in_their_order),
        cmocka_unit_test(test_policy_driver_posts_the_clock_once),
    };
    return cmocka_run_group_tests_name("policy_driver", tests, NULL, NULL);
}
