#include "scheduler/control/slices/control_decisions.h"

#include "scheduler/control/state/policy_driver.h"

#include <string.h>

#include "tests/scheduler/control_fixtures.h"

typedef struct Telling {
    Message message;
    PolicyEvent event;
} Telling;

/* On the control thread. */
static void tell(void *context, Message *message) {
    Control *control = context;
    control_post_event(control, ((Telling *)message)->event);
    control_apply_events(control);
}

/* What somebody asks of a job that the policy does not know came too late, and changes nothing. */
static void test_control_decisions_forget_what_came_too_late(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    static Telling suspend = {
        {.handle = tell}, {.kind = POLICY_EVENT_SUSPEND_REQUESTED, .job = 99}};
    static Telling cancel = {{.handle = tell}, {.kind = POLICY_EVENT_CANCEL_REQUESTED, .job = 99}};
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    control_post(fixture.control, &suspend.message);
    control_post(fixture.control, &cancel.message);
    assert_ok(control_fixture_submit(&fixture, "four", 2, false, NULL, &id));
    control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
    assert_ok(control_check(fixture.control));
}

/* Any other event that the policy refuses is a defect: the control thread fails and names the
 * event. */
static void test_control_decisions_fail_with_the_event_that_was_refused(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    static Telling moved = {
        {.handle = tell}, {.kind = POLICY_EVENT_MOVED_IN, .job = 99, .worked = true}};
    JobId id;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    control_post(fixture.control, &moved.message);
    /* handled behind the event */
    error_free(control_fixture_submit(&fixture, "four", 2, false, NULL, &id));
    OWN(Error, error) = control_check(fixture.control);
    assert_non_null(error);
    assert_non_null(strstr(error_message(error), "event moved_in"));
}

int test_control_decisions(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_decisions_forget_what_came_too_late),
        cmocka_unit_test(test_control_decisions_fail_with_the_event_that_was_refused),
    };
    return cmocka_run_group_tests_name("control_decisions", tests, NULL, NULL);
}
