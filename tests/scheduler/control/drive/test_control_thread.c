#include "scheduler/control/control.h"

#include "tests/scheduler/control_fixtures.h"

static size_t changes;
static void count_change(void *listener, JobId job) {
    (void)listener;
    (void)job;
    changes++;
}

static void test_control_opens_its_devices(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    ControlDeviceStatus device;
    Control *control = NULL;
    control_fixture_init(&fixture);
    ControlOptions options = {.store = fixture.store,
        .catalog = fixture.catalog,
        .settings = fixture.settings,
        .devices = {"sim:0", "sim:0"},
        .device_count = 2};
    assert_fails(USAGE, control_create(&options, &control));
    options.devices[1] = "tpu:1";
    assert_fails(UNSUPPORTED, control_create(&options, &control));
    assert_null(control);
    control_fixture_start(&fixture, control_fixture_cpu_and_sim);
    assert_int_equal(control_device_count(fixture.control), 2);
    assert_ok(control_get_device(fixture.control, 1, &device));
    assert_string_equal(device.name, "sim:0");
    assert_string_equal(device.kind, "sim");
    assert_false(device.lost);
    assert_int_equal(device.memory.total_bytes, 1 << 30);
    assert_true(device.determinism_class[0]);
    assert_int_equal(device.job.number, 0);
    assert_ok(control_check(fixture.control));
}

/* Jobs of one device share it, and whoever listens hears of every change. */
static void test_control_multiplexes_jobs(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId ids[8];
    Job job;
    changes = 0;
    control_fixture_init(&fixture);
    ControlOptions options = {.store = fixture.store,
        .catalog = fixture.catalog,
        .settings = fixture.settings,
        .quantum_ns = 1000000,
        .changed = count_change};
    assert_ok(control_create(&options, &fixture.control));
    for (int i = 0; i < 8; i++)
        assert_ok(control_fixture_submit(&fixture, "slow", 2, true, NULL, &ids[i]));
    for (int i = 0; i < 8; i++) {
        control_fixture_wait(&fixture, ids[i], JOB_STATE_SUCCEEDED, &job);
        assert_true(job.device_seconds > 0);
        control_fixture_check(&fixture, ids[i], 2, 2);
    }
    control_fixture_stop(&fixture);
    assert_true(changes > 8 * 3);
}

int test_control_thread(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_opens_its_devices),
        cmocka_unit_test(test_control_multiplexes_jobs),
    };
    return cmocka_run_group_tests_name("control_thread", tests, NULL, NULL);
}
