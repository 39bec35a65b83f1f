#include "scheduler/control/state/control_steps.h"

#include "tests/scheduler/control_fixtures.h"

static void step_badly(void *context, Message *message) {
    (void)message;
    ControlJob job = {.control = context};
    control_step_site(&job, JOB_SITE_EVENT_SLICE_ENDED);
    assert_int_equal(job.site.state, JOB_SITE_ABSENT);
}

/* A slice cannot end of a job that has no run: the control thread gives up and says which step the
 * machine does not have. */
static void test_control_steps_fail_the_control_thread(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    size_t left;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    Message message = {.handle = step_badly};
    control_post(fixture.control, &message);
    assert_fails_saying(INTERNAL, "job site: no step for event SLICE_ENDED in state ABSENT",
        control_drain(fixture.control, 0, &left));
    assert_fails(INTERNAL, control_check(fixture.control));
}

int test_control_steps(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_steps_fail_the_control_thread),
    };
    return cmocka_run_group_tests_name("control_steps", tests, NULL, NULL);
}
