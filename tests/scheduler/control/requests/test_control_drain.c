#include "scheduler/control/requests/control_drain.h"

#include "scheduler/control/state/control_shared.h"
#include "tests/scheduler/control_fixtures.h"

enum { DRAINED_ROWS = 60 };

static void test_control_drains_with_checkpoints(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId ids[3];
    Job job;
    size_t left;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, control_fixture_cpu_and_sim);
    for (int i = 0; i < 3; i++)
        assert_ok(control_fixture_submit(&fixture, "slow", DRAINED_ROWS, true, NULL, &ids[i]));
    control_fixture_wait_outputs(&fixture, ids[0], 1);
    assert_ok(control_drain(fixture.control, (uint64_t)30 * 1000000000, &left));
    /* one may have ended before, where the cores or the disk are busy */
    size_t unfinished = 0, written = 0;
    for (int i = 0; i < 3; i++) {
        assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, ids[i], &job));
        unfinished += job.state != JOB_STATE_SUCCEEDED;
        written += job.state != JOB_STATE_SUCCEEDED && job.checkpoint_last > 0;
    }
    assert_int_equal(left, unfinished);
    assert_true(written > 0);
    assert_fails(UNREACHABLE, control_fixture_submit(&fixture, "four", 1, false, NULL, &ids[0]));
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, NULL);
    for (int i = 0; i < 3; i++) {
        control_fixture_wait(&fixture, ids[i], JOB_STATE_SUCCEEDED, &job);
        control_fixture_check(&fixture, ids[i], DRAINED_ROWS, 2);
    }
}

typedef struct Failure {
    Message message;
    const char *text;
} Failure;

static void fail_now(void *context, Message *message) {
    control_fail(
        context, error_make(ERROR_IO, __FILE__, __LINE__, "%s", ((Failure *)message)->text));
}

/* A failure while it drains ends the draining. */
static void test_control_drain_ends_with_a_failure(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    size_t left;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 2, false, NULL, &id));
    /* the second one may be handled when everybody was told of the first */
    static Failure first = {{.handle = fail_now}, "first"},
                   second = {{.handle = fail_now}, "second"};
    control_post(fixture.control, &first.message);
    control_post(fixture.control, &second.message);
    assert_fails_saying(IO, "first", control_drain(fixture.control, UINT64_C(60000000000), &left));
}

int test_control_drain(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_drains_with_checkpoints),
        cmocka_unit_test(test_control_drain_ends_with_a_failure),
    };
    return cmocka_run_group_tests_name("control_drain", tests, NULL, NULL);
}
