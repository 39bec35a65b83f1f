#include "scheduler/control/control.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "scheduler/node/model_loader.h"
#include "scheduler/policy/policy.h"
#include "store/accounts/tenants.h"
#include "tests/scheduler/control_fixtures.h"
#include "tests/scheduler/executor_fixtures.h"
#include "tests/serialize/memory_npz.h"
#include "vm/assembly/assembly.h"

enum { ITEMS = 40 };

static int64_t losses(Metrics *metrics) {
    static const char row[] = "\nlayover_device_losses_total ";
    TextBuilder OWN_TEXT(text) = {0};
    assert_ok(metrics_print(metrics, &text));
    const char *at = strstr(text_builder_get(&text), row);
    assert_non_null(at);
    return (int64_t)strtod(at + sizeof row - 1, NULL);
}

static void wait_for_losses(Metrics *metrics, int64_t count) {
    for (int i = 0; i < 30000 && losses(metrics) < count; i++) fixture_pause_ms(2);
    assert_true(losses(metrics) >= count);
}

static void start(ControlFixture *fixture, Metrics *metrics, const char *const *devices) {
    control_fixture_init(fixture);
    fixture->metrics = metrics;
    fixture->reopen_pause_ns = MILLISECOND_NS;
    fixture->loss_window_ns = MILLISECOND_NS;
    control_fixture_start(fixture, devices);
}

static void expect_whole(ControlFixture *fixture, JobId id) {
    Job job;
    control_fixture_wait(fixture, id, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.output_count, ITEMS);
    assert_int_equal(job.items_done, ITEMS);
    control_fixture_check(fixture, id, ITEMS, 4);
}

static size_t count_events(
    ControlFixture *fixture, JobId id, JobEventKind kind, const char *words) {
    OWN(JobEventList, events) = NULL;
    size_t count = 0;
    assert_ok(job_events_list(fixture->store, TENANT_DEFAULT, id, 0, &events));
    for (size_t i = 0; i < events->count; i++) {
        const JobEvent *event = &events->items[i];
        assert_int_not_equal(event->kind, JOB_EVENT_DIVERGED);
        count += event->kind == kind && strstr(event->why, words);
    }
    return count;
}

/* A batch is two launches an item: some of the jobs are in the middle when it is lost. */
static void test_control_devices_come_back_and_jobs_go_on(void **state) {
    (void)state;
    static const char *const devices[] = {"sim:0,lose-after=250", NULL};
    OWN(Metrics, metrics) = NULL;
    ControlFixture OWN_CONTROL(fixture);
    JobId ids[8];
    size_t notes = 0;
    assert_ok(metrics_create(&metrics));
    start(&fixture, metrics, devices);
    for (int i = 0; i < 8; i++)
        assert_ok(control_fixture_submit(&fixture, "four", ITEMS, true, NULL, &ids[i]));
    for (int i = 0; i < 8; i++) {
        expect_whole(&fixture, ids[i]);
        notes +=
            count_events(&fixture, ids[i], JOB_EVENT_NOTE, "its device was lost; it begins again");
    }
    assert_true(losses(metrics) >= 2);
    assert_true(notes >= 1);
    assert_ok(control_check(fixture.control));
}

static void test_control_devices_leave_their_jobs_to_others(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "sim:0,lose-after=30", NULL};
    OWN(Metrics, metrics) = NULL;
    ControlFixture OWN_CONTROL(fixture);
    JobId ids[12];
    assert_ok(metrics_create(&metrics));
    start(&fixture, metrics, devices);
    for (int i = 0; i < 12; i++)
        assert_ok(control_fixture_submit(&fixture, "four", ITEMS, true, NULL, &ids[i]));
    for (int i = 0; i < 12; i++) expect_whole(&fixture, ids[i]);
    assert_ok(control_check(fixture.control));
}

/* Asks for a checkpoint at every moment until the job has ended. */
static void checkpoint_until_end(ControlFixture *fixture, JobId id, Job *out_job) {
    for (;;) {
        assert_ok(jobs_get(fixture->store, TENANT_DEFAULT, id, out_job));
        if (out_job->state != JOB_STATE_QUEUED) return;
        Error *error = control_checkpoint(fixture->control, TENANT_DEFAULT, id);
        /* it has ended meanwhile, or the launches that lag leave no safepoint in time */
        if (error && error_code(error) != ERROR_CONFLICT && error_code(error) != ERROR_EXHAUSTED)
            fail_msg("%s", error_message(error));
        error_free(error);
        fixture_pause_ms(2);
    }
}

/* Stored at a safepoint: it goes on from there, and what is stored already is dropped. The device
 * is lost at every fifth launch, so no job of eight ends that has not gone on from a checkpoint. */
static void test_control_devices_go_on_from_checkpoints(void **state) {
    (void)state;
    static const char *const devices[] = {"sim:0,lose-after=5,lag=100000", NULL};
    OWN(Metrics, metrics) = NULL;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    Job job;
    assert_ok(metrics_create(&metrics));
    start(&fixture, metrics, devices);
    assert_ok(control_fixture_submit(&fixture, "slow", 8, true, NULL, &id)); /* a launch an item */
    checkpoint_until_end(&fixture, id, &job);
    assert_int_equal(job.state, JOB_STATE_SUCCEEDED);
    assert_int_equal(job.output_count, 8);
    control_fixture_check(&fixture, id, 8, 2);
    size_t from_checkpoint =
        count_events(&fixture, id, JOB_EVENT_NOTE, "it goes on from its checkpoint");
    size_t anew = count_events(&fixture, id, JOB_EVENT_NOTE, "it begins again");
    assert_true(from_checkpoint >= 1);
    assert_int_equal(from_checkpoint + anew, losses(metrics));
}

/* Who demands the device waits, and says what for; nobody else is held up. */
static void test_control_devices_are_waited_for(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "sim:0,lose-after=1", NULL};
    OWN(Metrics, metrics) = NULL;
    ControlFixture OWN_CONTROL(fixture);
    JobId pinned, other;
    Job job;
    ControlStatus status;
    ControlDeviceStatus device;
    assert_ok(metrics_create(&metrics));
    control_fixture_init(&fixture);
    fixture.metrics = metrics;
    fixture.reopen_pause_ns = 3000 * MILLISECOND_NS;
    control_fixture_start(&fixture, devices);
    assert_ok(control_fixture_submit(&fixture, "slow", 4, true, NULL, &pinned));
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, pinned));
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, pinned, "sim:0"));
    wait_for_losses(metrics, 1);
    assert_ok(control_fixture_submit(&fixture, "four", ITEMS, true, NULL, &other));
    expect_whole(&fixture, other);
    assert_ok(control_get_device(fixture.control, 1, &device));
    assert_true(device.lost);
    assert_string_equal(device.name, "sim:0");
    assert_int_equal(device.memory.free_bytes, 0);
    assert_true(control_find_status(fixture.control, pinned, &status));
    assert_string_equal(status.why, "waits for sim:0, which is lost, to come back");
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, pinned));
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, pinned, "cpu"));
    control_fixture_wait(&fixture, pinned, JOB_STATE_SUCCEEDED, &job);
    control_fixture_check(&fixture, pinned, 4, 2);
}

/* The third loss within the window keeps it away until the window is over. */
static void test_control_devices_lost_often_stay_away(void **state) {
    (void)state;
    static const char *const devices[] = {"sim:0,lose-after=30", NULL};
    OWN(Metrics, metrics) = NULL;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    assert_ok(metrics_create(&metrics));
    control_fixture_init(&fixture);
    fixture.metrics = metrics;
    fixture.reopen_pause_ns = MILLISECOND_NS;
    fixture.loss_window_ns = 1500 * MILLISECOND_NS;
    control_fixture_start(&fixture, devices);
    uint64_t start_ns = clock_now_ns(clock_real());
    assert_ok(control_fixture_submit(&fixture, "four", ITEMS, true, NULL, &id)); /* has no chance */
    wait_for_losses(metrics, 4);
    assert_true(clock_now_ns(clock_real()) >= start_ns + fixture.loss_window_ns);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
    assert_ok(control_check(fixture.control));
}

int test_device_losses(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_devices_come_back_and_jobs_go_on),
        cmocka_unit_test(test_control_devices_leave_their_jobs_to_others),
        cmocka_unit_test(test_control_devices_go_on_from_checkpoints),
        cmocka_unit_test(test_control_devices_are_waited_for),
        cmocka_unit_test(test_control_devices_lost_often_stay_away),
    };
    return cmocka_run_group_tests_name("device_losses", tests, NULL, NULL);
}
