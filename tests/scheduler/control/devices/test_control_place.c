#include "scheduler/control/control.h"

#include "scheduler/node/model_loader.h"
#include "store/accounts/tenants.h"
#include "tests/scheduler/control_fixtures.h"
#include "tests/scheduler/executor_fixtures.h"
#include "tests/serialize/memory_npz.h"
#include "vm/assembly/assembly.h"

static const char *const only_sim[] = {"sim:0", NULL};

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

/* Model "s": main gives {1, 2}, out of strings where operators run; spin never ends. */
static void register_strings(ControlFixture *fixture) {
    static const char text[] = "constant @s slot 1 = string[2] {\"1\", \"2\"}\n"
                               "primitive %cast = Cast {to=float32}\n"
                               "function main(a: float32[n, 2]) -> (y: float32[2]) exported {\n"
                               "    InvokePacked %cast @s -> r1\n    Ret r1\n}\n"
                               "function spin(a: float32[n, 2]) -> (y: any) exported {\n"
                               "head:\n    Goto head\n}\n";
    OWN(Executable, executable) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    assert_ok(assembly_parse(text, sizeof text - 1, &executable));
    assert_ok(model_loader_register(
        fixture->store, TENANT_DEFAULT, NULL, "s", executable, NULL, 0, &version));
}

static Error *submit_strings(ControlFixture *fixture, const char *function, const char *device,
    bool suspended, JobId *out_id) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    ByteWriter OWN_BYTES(file) = {0};
    const Shape shape = {.rank = 2, .dims = {1, 2}};
    bool created;
    fixture_add_floats(&inputs, "a", &shape, 1);
    stored_npz(&inputs, &file);
    Submission OWN_SUBMISSION(submission) = {0};
    assert_ok(submission_init(&submission, function, device));
    submission.tenant = TENANT_DEFAULT;
    submission.model = "s";
    submission.inputs = file.data;
    submission.inputs_size = file.size;
    submission.policy.checkpoint_keep = 2;
    if (suspended) submission.state = JOB_STATE_SUSPENDED;
    return job_intake_submit(fixture->control, fixture->budget, &submission, out_id, &created);
}

static void test_control_devices_that_cannot_run_a_model_are_not_chosen(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    const char *const main = "main", *const any = "", *const sim = "sim:0", *const cpu = "cpu";
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    register_strings(&fixture);
    control_fixture_start(&fixture, control_fixture_cpu_and_sim);
    for (int i = 0; i < 20; i++) {
        assert_ok(submit_strings(&fixture, main, i % 2 ? any : cpu, false, &id));
        control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
        assert_string_equal(job.device, "cpu");
    }
    assert_fails_saying(UNSUPPORTED, "sim:0 cannot run this model: it has strings in slot 1",
        submit_strings(&fixture, main, sim, false, &id));
    assert_ok(submit_strings(&fixture, main, any, true, &id));
    assert_fails(UNSUPPORTED, control_resume(fixture.control, TENANT_DEFAULT, id, "sim:0"));
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, id, NULL));
    control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
    assert_string_equal(job.device, "cpu");
}

static void wait_until_it_runs(ControlFixture *fixture, JobId id, const char *device) {
    ControlStatus status = {0};
    for (int i = 0; i < 60000 && !status.running; i++) {
        assert_true(control_find_status(fixture->control, id, &status));
        fixture_pause_ms(2);
    }
    assert_string_equal(status.device, device);
}

static Error *allow_one(Connection *catalog, void *context) {
    (void)context;
    return tenants_set_quota(catalog, TENANT_DEFAULT, QUOTA_RUNNING_JOBS, 1);
}

/* What it waits for on its device is not said here, but that it can have no other. */
static void test_control_devices_say_what_a_model_waits_for(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    char spin[] = "spin", any[] = "";
    JobId first, second;
    ControlStatus status = {0};
    control_fixture_init(&fixture);
    register_strings(&fixture);
    assert_ok(catalog_run(fixture.catalog, allow_one, NULL));
    control_fixture_start(&fixture, control_fixture_cpu_and_sim);
    assert_ok(submit_strings(&fixture, spin, any, false, &first));
    wait_until_it_runs(&fixture, first, "cpu");
    assert_ok(submit_strings(&fixture, spin, any, false, &second));
    for (int i = 0; i < 60000 && !status.why[0]; i++) { /* soon after the answer */
        assert_true(control_find_status(fixture.control, second, &status));
        fixture_pause_ms(2);
    }
    assert_string_equal(
        status.why, "waits for cpu: the model has strings in slot 1; only cpu runs it");
}

/* Taken in where it could run; the next start has no such device, the one behind it has. */
static void test_control_devices_suspend_what_none_can_run(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    char spin[] = "spin", any[] = "", why[] = "no device here can run this model";
    JobId id, other;
    Job job;
    control_fixture_init(&fixture);
    register_strings(&fixture);
    control_fixture_start(&fixture, control_fixture_cpu_and_sim);
    assert_ok(submit_strings(&fixture, spin, any, false, &id));
    wait_until_it_runs(&fixture, id, "cpu");
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, only_sim);
    control_fixture_wait(&fixture, id, JOB_STATE_SUSPENDED, &job);
    assert_int_equal(count_events(&fixture, id, JOB_EVENT_STATE, why), 1);
    assert_fails_saying(UNSUPPORTED, why, submit_strings(&fixture, spin, any, false, &other));
    assert_fails_saying(UNSUPPORTED, why, submit_strings(&fixture, spin, any, true, &other));
    assert_fails_saying(
        UNSUPPORTED, why, control_resume(fixture.control, TENANT_DEFAULT, id, NULL));
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, control_fixture_cpu_and_sim);
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, id, NULL));
    wait_until_it_runs(&fixture, id, "cpu");
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
}

int test_control_place(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_devices_that_cannot_run_a_model_are_not_chosen),
        cmocka_unit_test(test_control_devices_say_what_a_model_waits_for),
        cmocka_unit_test(test_control_devices_suspend_what_none_can_run),
    };
    return cmocka_run_group_tests_name("control_place", tests, NULL, NULL);
}
