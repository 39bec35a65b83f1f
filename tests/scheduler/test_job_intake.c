#include "scheduler/job_intake.h"

#include <math.h>
#include <stdio.h>

#include "scheduler/policy/policy_event.h"
#include "tests/scheduler/control_fixtures.h"
#include "tests/scheduler/executor_fixtures.h"

static Error *submit(ControlFixture *fixture, const char *model, const char *function,
    const char *input, Shape shape, bool items) {
    ArrayList inputs = {0};
    char name[32], device[] = "";
    JobId id;
    bool created;
    (void)snprintf(name, sizeof name, "%s", function);
    fixture_add_floats(&inputs, input, &shape, 1);
    JobPolicy policy = {
        .function = name, .device = device, .items = items, .weight = 1, .checkpoint_keep = 1};
    JobIntake intake = {.tenant = TENANT_DEFAULT,
        .model = model,
        .inout_inputs = &inputs,
        .policy = &policy,
        .priority = POLICY_LOW,
        .release = JOB_RELEASE_CHECKPOINT,
        .deadline = NAN};
    Error *error = job_intake_submit(fixture->control, &intake, &id, &created);
    assert_null(inputs.items); /* consumed in any case */
    return error;
}

/* What would fail at the first run is refused before anything of it is stored. */
static void test_job_intake_refuses_wrong_inputs(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    OWN(JobList, list) = NULL;
    const Shape fits = {.rank = 2, .dims = {3, 2}}, wide = {.rank = 2, .dims = {3, 5}};
    const Shape scalar = {0};
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_fails(NOT_FOUND, submit(&fixture, "nobody", "four", "a", fits, false));
    assert_fails(NOT_FOUND, submit(&fixture, "m@7", "four", "a", fits, false));
    assert_fails(NOT_FOUND, submit(&fixture, "m", "five", "a", fits, false));
    assert_fails_saying(INVALID, "no input b", submit(&fixture, "m", "four", "b", fits, false));
    assert_fails_saying(
        INVALID, "input a has shape [3, 5]", submit(&fixture, "m", "four", "a", wide, false));
    assert_fails_saying(
        INVALID, "input a has no item axis", submit(&fixture, "m", "four", "a", scalar, true));
    assert_ok(jobs_list(fixture.store, TENANT_DEFAULT, JOB_STATE_NONE, 0, 10, &list));
    assert_int_equal(list->count, 0);
}

static void test_job_intake_stores_what_was_asked_for(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    OWN(JobList, list) = NULL;
    ByteWriter OWN_BYTES(bytes) = {0};
    JobPolicy OWN_POLICY(policy) = {0};
    const Shape shape = {.rank = 2, .dims = {5, 2}};
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(submit(&fixture, "m@1", "four", "a", shape, true));
    assert_ok(jobs_list(fixture.store, TENANT_DEFAULT, JOB_STATE_NONE, 0, 10, &list));
    assert_int_equal(list->count, 1);
    const Job *job = &list->items[0];
    assert_int_equal(job->items_total, 5);
    assert_int_equal(job->priority, POLICY_LOW);
    assert_int_equal(job->release, JOB_RELEASE_CHECKPOINT);
    assert_string_equal(job->model, "m@1");
    assert_ok(jobs_get_policy(fixture.store, TENANT_DEFAULT, job->id, &bytes));
    assert_ok(job_policy_read(bytes.data, bytes.size, &policy));
    assert_string_equal(policy.function, "four");
    assert_true(policy.random_key != 0); /* but for one time in 2^64 */
}

int test_job_intake(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_intake_refuses_wrong_inputs),
        cmocka_unit_test(test_job_intake_stores_what_was_asked_for),
    };
    return cmocka_run_group_tests_name("job_intake", tests, NULL, NULL);
}
