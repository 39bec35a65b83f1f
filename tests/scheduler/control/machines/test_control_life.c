#include "scheduler/control/machines/control_life.h"

#include "tests/support/test_support.h"

static void test_control_life_follows_a_daemon_that_is_drained(void **state) {
    (void)state;
    ControlLife life = {0};
    assert_true(control_life_decides(&life)); /* while jobs are taken up */
    assert_false(control_life_takes_requests(&life));
    assert_ok(control_life_step(&life, CONTROL_LIFE_EVENT_SERVE));
    assert_true(control_life_takes_requests(&life));
    assert_ok(control_life_step(&life, CONTROL_LIFE_EVENT_DRAIN));
    assert_false(control_life_takes_requests(&life));
    assert_false(control_life_decides(&life));
    assert_true(control_life_commits(&life));
    assert_ok(control_life_step(&life, CONTROL_LIFE_EVENT_DRAINED));
    assert_ok(control_life_step(&life, CONTROL_LIFE_EVENT_END));
    assert_false(control_life_commits(&life));
}

/* From wherever it fails or is released, it does not come back. */
static void test_control_life_may_fail_and_end_at_any_time(void **state) {
    (void)state;
    for (int i = 0; i < CONTROL_LIFE_STATE_COUNT; i++) {
        ControlLife life = {(uint8_t)i};
        assert_ok(control_life_step(&life, CONTROL_LIFE_EVENT_FAIL));
        assert_int_equal(
            life.state, i == CONTROL_LIFE_ENDING ? CONTROL_LIFE_ENDING : CONTROL_LIFE_FAILED);
        assert_false(control_life_decides(&life));
        assert_ok(control_life_step(&life, CONTROL_LIFE_EVENT_END));
        assert_int_equal(life.state, CONTROL_LIFE_ENDING);
        assert_fails(INTERNAL, control_life_step(&life, CONTROL_LIFE_EVENT_SERVE));
    }
}

int test_control_life(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_life_follows_a_daemon_that_is_drained),
        cmocka_unit_test(test_control_life_may_fail_and_end_at_any_time),
    };
    return cmocka_run_group_tests_name("control_life", tests, NULL, NULL);
}
