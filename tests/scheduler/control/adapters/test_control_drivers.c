#include "base/clock.h"
#include "base/duration.h"
#include "scheduler/control/control.h"
#include "tests/scheduler/control_fixtures.h"

enum { ITEMS = 40 };

static void start(ControlFixture *fixture, const char *const *devices) {
    control_fixture_init(fixture);
    fixture->reopen_pause_ns = MILLISECOND_NS;
    fixture->loss_window_ns = MILLISECOND_NS;
    control_fixture_start(fixture, devices);
}

/* Lost, closed and opened anew again and again, each time as a new process. */
static void test_control_drivers_brings_worker_processes_back(void **state) {
    (void)state;
    static const char *const devices[] = {"sim:0,lose-after=250,worker=process", NULL};
    ControlFixture OWN_CONTROL(fixture);
    JobId ids[6];
    start(&fixture, devices);
    for (int i = 0; i < 6; i++)
        assert_ok(control_fixture_submit(&fixture, "four", ITEMS, true, NULL, &ids[i]));
    for (int i = 0; i < 6; i++) {
        Job job;
        control_fixture_wait(&fixture, ids[i], JOB_STATE_SUCCEEDED, &job);
        assert_int_equal(job.output_count, ITEMS);
        control_fixture_check(&fixture, ids[i], ITEMS, 4);
    }
    assert_ok(control_check(fixture.control));
}

/* A device is not closed while another thread reads its memory. */
static void test_control_drivers_waits_for_readers(void **state) {
    (void)state;
    static const char *const devices[] = {"sim:0,lose-after=30,worker=process", NULL};
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    bool lost = false, there = false;
    start(&fixture, devices);
    assert_ok(control_fixture_submit(&fixture, "four", ITEMS, true, NULL, &id)); /* has no chance */
    const uint64_t deadline_ns = clock_now_ns(clock_real()) + 300 * SECOND_NS;
    for (int i = 0; !(lost && there && i > 2000) && clock_now_ns(clock_real()) < deadline_ns; i++) {
        ControlDeviceStatus status;
        assert_ok(control_get_device(fixture.control, 0, &status));
        assert_string_equal(status.kind, "sim");
        lost = lost || status.lost;
        there = there || !status.lost;
    }
    assert_true(lost && there);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
    assert_ok(control_check(fixture.control));
}

/* The end may come at any moment of it. */
static void test_control_drivers_may_be_ended_at_any_time(void **state) {
    (void)state;
    static const char *const devices[] = {"sim:0,lose-after=20,worker=process", NULL};
    for (long ms = 0; ms < 40; ms += 4) {
        ControlFixture OWN_CONTROL(fixture);
        JobId id;
        start(&fixture, devices);
        assert_ok(control_fixture_submit(&fixture, "four", ITEMS, true, NULL, &id));
        fixture_pause_ms(ms);
        control_fixture_stop(&fixture);
    }
}

int test_control_drivers(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_drivers_brings_worker_processes_back),
        cmocka_unit_test(test_control_drivers_waits_for_readers),
        cmocka_unit_test(test_control_drivers_may_be_ended_at_any_time),
    };
    return cmocka_run_group_tests_name("control_drivers", tests, NULL, NULL);
}
