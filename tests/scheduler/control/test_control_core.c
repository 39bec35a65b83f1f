#include "scheduler/control/control_core.h"

#include <semaphore.h>

#include "scheduler/control/control_internal.h"
#include "tests/scheduler/control_fixtures.h"

typedef struct Look {
    Message message;
    sem_t looked;
    uint64_t now_ns, due_ns;
    bool hurry, hurry_again, over;
} Look;

/* On the control thread. */
static void look(void *context, Message *message) {
    Look *self = (Look *)message;
    self->now_ns = control_now_ns(context);
    self->due_ns = control_core_due_ns(context);
    self->hurry = control_core_take_hurry(context);
    self->hurry_again = control_core_take_hurry(context);
    self->over = control_core_is_over(context);
    (void)sem_post(&self->looked);
}

static Look look_now(Control *control) {
    Look self = {.message.handle = look};
    assert_int_equal(sem_init(&self.looked, 0, 0), 0);
    control_post(control, &self.message);
    while (sem_wait(&self.looked) != 0) continue;
    (void)sem_destroy(&self.looked);
    return self;
}

/* Where nothing runs no turn is due; where jobs share a device, the next one ends a slice. */
static void test_control_core_is_due_when_a_slice_is_to_end(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId ids[2];
    Look now;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    now = look_now(fixture.control);
    assert_int_equal(now.due_ns, 0);
    assert_false(now.over);
    for (int i = 0; i < 2; i++)
        assert_ok(control_fixture_submit(&fixture, "forever", 2, false, NULL, &ids[i]));
    do now = look_now(fixture.control);
    while (!now.due_ns);
    assert_false(now.hurry_again); /* looking forgets it */
    for (int i = 0; i < 2; i++) assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, ids[i]));
}

int test_control_core(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_core_is_due_when_a_slice_is_to_end),
    };
    return cmocka_run_group_tests_name("control_core", tests, NULL, NULL);
}
