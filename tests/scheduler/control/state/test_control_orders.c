#include "scheduler/control/state/control_orders.h"

#include "tests/scheduler/control/control_world.h"

/* An order is counted until it has come back: a new job's row, then everything that its run needs.
 */
static void test_control_orders_count_until_they_come_back(void **state) {
    (void)state;
    static ControlWorld world;
    control_world_init(&world, 1);
    world.calm = true;
    assert_false(control_has_orders(world.control));
    control_world_ask_for(&world, CONTROL_SUBMIT, 1, (JobId){0});
    assert_true(control_world_step(&world));
    assert_int_equal(world.row_count, 0); /* the row is being stored */
    assert_true(control_has_orders(world.control));
    for (int i = 0; i < 100 && world.row_count == 0; i++) assert_true(control_world_step(&world));
    control_world_finish(&world);
    for (int i = 0; i < 1000 && control_world_step(&world); i++) continue;
    assert_false(control_has_orders(world.control));
    control_world_deinit(&world);
}

int test_control_orders(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_orders_count_until_they_come_back),
    };
    return cmocka_run_group_tests_name("control_orders", tests, NULL, NULL);
}
