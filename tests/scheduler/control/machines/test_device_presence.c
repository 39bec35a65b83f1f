#include "scheduler/control/machines/device_presence.h"

#include "tests/support/test_support.h"

/* Lost, closed, opened in vain and opened; only then is it there again. */
static void test_device_presence_follows_a_device_that_is_lost(void **state) {
    (void)state;
    static const DevicePresenceEvent way[] = {DEVICE_PRESENCE_EVENT_LOSE,
        DEVICE_PRESENCE_EVENT_QUIET, DEVICE_PRESENCE_EVENT_CLOSED, DEVICE_PRESENCE_EVENT_DUE,
        DEVICE_PRESENCE_EVENT_OPEN_FAILED, DEVICE_PRESENCE_EVENT_DUE};
    DevicePresence presence = {0};
    assert_false(device_presence_is_lost(&presence));
    assert_true(device_presence_is_open(&presence));
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        assert_ok(device_presence_step(&presence, way[i]));
        assert_true(device_presence_is_lost(&presence));
        assert_int_equal(device_presence_is_open(&presence), i == 0);
    }
    assert_int_equal(presence.state, DEVICE_PRESENCE_OPENING);
    assert_ok(device_presence_step(&presence, DEVICE_PRESENCE_EVENT_OPENED));
    assert_int_equal(presence.state, DEVICE_PRESENCE_PRESENT);
    assert_fails_saying(INTERNAL, "device presence: no step for event DUE in state PRESENT",
        device_presence_step(&presence, DEVICE_PRESENCE_EVENT_DUE));
}

int test_device_presence(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_presence_follows_a_device_that_is_lost),
    };
    return cmocka_run_group_tests_name("device_presence", tests, NULL, NULL);
}
