#include "scheduler/control/machines/machine.h"

#include "tests/support/test_support.h"

enum { RED, GREEN, STATE_COUNT };
enum { GO, STOP, EVENT_COUNT };

static const MachineState states[] = {{"RED", "", "cars wait"}, {"GREEN", "", "cars drive"}};
static const MachineEvent events[] = {{"GO", "the road is free"}, {"STOP", "it is not"}};
static const uint8_t steps[STATE_COUNT][EVENT_COUNT] = {
    [RED][GO] = 1 + GREEN, [GREEN][STOP] = 1 + RED, [RED][STOP] = 1 + RED};
static const Machine light = {.name = "traffic light",
    .states = states,
    .events = events,
    .state_count = STATE_COUNT,
    .event_count = EVENT_COUNT,
    .steps = &steps[0][0]};

static void test_machine_takes_the_steps_of_its_table(void **state) {
    (void)state;
    uint8_t is = RED;
    assert_ok(machine_step(&light, GO, &is));
    assert_int_equal(is, GREEN);
    assert_ok(machine_step(&light, STOP, &is));
    assert_ok(machine_step(&light, STOP, &is));
    assert_int_equal(is, RED);
    assert_true(machine_has_step(&light, RED, GO));
    assert_false(machine_has_step(&light, GREEN, GO));
}

static void test_machine_error_names_machine_event_and_state(void **state) {
    (void)state;
    uint8_t is = GREEN;
    assert_fails_saying(INTERNAL, "traffic light: no step for event GO in state GREEN",
        machine_step(&light, GO, &is));
    assert_int_equal(is, GREEN);
    assert_fails_saying(INTERNAL, "traffic light: no step for event (none) in state GREEN",
        machine_step(&light, EVENT_COUNT, &is));
    is = STATE_COUNT;
    assert_fails_saying(INTERNAL, "traffic light: no step for event GO in state (none)",
        machine_step(&light, GO, &is));
}

int test_machine(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machine_takes_the_steps_of_its_table),
        cmocka_unit_test(test_machine_error_names_machine_event_and_state),
    };
    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
