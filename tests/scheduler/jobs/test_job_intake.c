#include "scheduler/jobs/job_intake.h"

#include "scheduler/policy/policy_event.h"
#include "tests/scheduler/control_fixtures.h"
#include "tests/scheduler/executor_fixtures.h"
#include "tests/serialize/memory_npz.h"

static Error *submit(ControlFixture *fixture, const char *model, const char *function,
    const char *input, Shape shape, bool items) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    ByteWriter OWN_BYTES(file) = {0};
    Submission OWN_SUBMISSION(submission) = {0};
    JobId id;
    bool created;
    fixture_add_floats(&inputs, input, &shape, 1);
    stored_npz(&inputs, &file);
    control_fixture_submission(model, function, &file, &submission);
    submission.policy.items = items;
    submission.priority = POLICY_LOW;
    submission.release = JOB_RELEASE_CHECKPOINT;
    return job_intake_submit(fixture->control, fixture->budget, &submission, &id, &created);
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

/* A file of a hundred bytes that says it has as many items as one likes, none of which has any. */
static void test_job_intake_bounds_items_without_bytes(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    const Shape many = {.rank = 2, .dims = {70000, 0}}, few = {.rank = 2, .dims = {100, 0}};
    const Shape with_bytes = {.rank = 2, .dims = {70000, 1}};
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_fails_saying(INVALID, "70000 items of 0 bytes in all",
        submit(&fixture, "m", "any_width", "a", many, true));
    assert_ok(submit(&fixture, "m", "any_width", "a", few, true));
    assert_ok(submit(&fixture, "m", "any_width", "a", with_bytes, true));
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

static Error *submit_file(ControlFixture *fixture, const char *model, const char *function,
    const ByteWriter *file, JobId *out_id) {
    Submission OWN_SUBMISSION(submission) = {0};
    bool created;
    control_fixture_submission(model, function, file, &submission);
    return job_intake_submit(fixture->control, fixture->budget, &submission, out_id, &created);
}

static Error *limit_host_bytes(Connection *catalog, void *context) {
    const int64_t *bytes = context;
    return tenants_set_quota(catalog, TENANT_DEFAULT, QUOTA_HOST_BYTES, *bytes);
}

/* A gigabyte of zeros in a megabyte: not unpacked for a model that is not there, for an input of
 * another type, or beyond the tenant's quota. */
static void test_job_intake_refuses_before_it_unpacks(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    ByteWriter OWN_BYTES(floats) = {0};
    ByteWriter OWN_BYTES(doubles) = {0};
    JobId id;
    const uint64_t size = (uint64_t)1 << 30, room = (uint64_t)32 << 20;
    int64_t quota = 64 << 20;
    deflated_npz("a", "<f4", "(134217728, 2)", size, &floats);
    deflated_npz("a", "<f8", "(67108864, 2)", size, &doubles);
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(catalog_run(fixture.catalog, limit_host_bytes, &quota));
    uint64_t before = resident_bytes();
    assert_fails(NOT_FOUND, submit_file(&fixture, "nobody", "four", &floats, &id));
    assert_fails_saying(
        INVALID, "input a is float64", submit_file(&fixture, "m", "four", &doubles, &id));
    assert_fails_saying(EXHAUSTED, "quota host_bytes: the inputs are 1073741824 bytes, of 67108864",
        submit_file(&fixture, "m", "four", &floats, &id));
    assert_true(resident_bytes() < before + room);
}

/* Each of many small strings takes memory before one of them is unpacked: it is charged first. */
static void test_job_intake_charges_strings_before_it_looks_at_them(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    ByteWriter OWN_BYTES(many) = {0};
    ByteWriter OWN_BYTES(few) = {0};
    OWN(MemoryBudget, budget) = NULL;
    JobId id;
    deflated_npz("a", "<U1", "(4000000,)", 16000000, &many);
    deflated_npz("a", "<U1", "(400,)", 1600, &few);
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(memory_budget_create("unpacking inputs", (uint64_t)128 << 20, 1, &budget));
    MemoryBudget *own = fixture.budget;
    fixture.budget = budget;
    Error *over = submit_file(&fixture, "m", "names", &many, &id);
    Error *under = submit_file(&fixture, "m", "names", &few, &id);
    fixture.budget = own;
    assert_fails_saying(EXHAUSTED,
        "288000000 bytes of memory for unpacking inputs are needed at "
        "once, and 67108864 are allowed",
        over);
    assert_ok(under);
}

/* Large inputs are only in the store when the job begins. */
static void test_job_intake_streams_large_inputs(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    ByteWriter OWN_BYTES(file) = {0};
    ArrayList OWN_ARRAYS(inputs) = {0};
    Job job;
    JobId id;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    fixture_add_floats(&inputs, "a", &(Shape){2, {1 << 20, 2}}, 1);
    stored_npz(&inputs, &file);
    assert_ok(submit_file(&fixture, "m", "four", &file, &id));
    control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
    ArrayList OWN_ARRAYS(outputs) = {0};
    control_fixture_output(&fixture, id, 0, &outputs);
    assert_int_equal(outputs.items[0].size, inputs.items[0].size);
    const float *in = (const float *)inputs.items[0].data;
    const float *out = (const float *)outputs.items[0].data;
    for (size_t i = 0; i < (size_t)2 << 20; i++) assert_true(out[i] == 4 * in[i]);
}

int test_job_intake(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_intake_refuses_wrong_inputs),
        cmocka_unit_test(test_job_intake_bounds_items_without_bytes),
        cmocka_unit_test(test_job_intake_stores_what_was_asked_for),
        cmocka_unit_test(test_job_intake_refuses_before_it_unpacks),
        cmocka_unit_test(test_job_intake_charges_strings_before_it_looks_at_them),
        cmocka_unit_test(test_job_intake_streams_large_inputs),
    };
    return cmocka_run_group_tests_name("job_intake", tests, NULL, NULL);
}
