#include "scheduler/service/run_joiner.h"

#include <math.h>
#include <semaphore.h>
#include <string.h>

#include "scheduler/node/model_loader.h"
#include "store/accounts/tenants.h"
#include "tests/scheduler/executor_fixtures.h"
#include "tests/scheduler/service_fixtures.h"
#include "vm/assembly/assembly.h"

static const char program[] =
    "primitive %add = Add\n"
    "primitive %gather = Gather\n"
    "constant @table = float32[2] {5, 7}\n"
    "function main(a: float32[n, 2]) -> (y: float32[n, 2]) exported {\n"
    "    InvokePacked %add r0, r0 -> r1\n"
    "    Ret r1\n"
    "}\n"
    "function pick(i: int64[n]) -> (y: float32[n]) exported {\n"
    "    InvokePacked %gather @table, r0 -> r1\n"
    "    Ret r1\n"
    "}\n"
    "function same(a: float32[n, 2]) -> (y: float32[?]) exported {\n"
    "    Ret @table\n"
    "}\n"
    "function forever(a: float32[n, 2]) -> (y: float32[n, 2]) exported {\n"
    "    LoadConsti 0 -> r1\n"
    "head:\n"
    "    IntOp add, r1, 1 -> r1\n"
    "    If r1, -1, done, head\n"
    "done:\n"
    "    Ret r0\n"
    "}\n";

enum { REQUESTS_MAX = 4, LONG_US = MODEL_QUEUE_DELAY_US_MAX };

/* A request and its result. */
typedef struct Request {
    JobsApiRun run;
    sem_t done;
    ArrayList outputs;
    JobsApiRunTimes times;
} Request;

static void register_program(ServiceFixture *fixture) {
    OWN(Executable, executable) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    assert_ok(assembly_parse(program, sizeof program - 1, &executable));
    assert_ok(model_loader_register(
        fixture->node.store, TENANT_DEFAULT, NULL, "j", executable, NULL, 0, &version));
}

/* Makes a run of a function with the input, which it moves out. deadline: NaN for none. */
static Error *make(ServiceFixture *fixture, const char *function, ModelBatching batching,
    double deadline, ArrayList *inputs, Request *out) {
    const JobsApiClass *api = fixture->api.class_;
    Submission OWN_SUBMISSION(submission) = {0};
    JobsApiModel model = {0};
    TRY(api->find_model(fixture->api.self, &fixture->user, "j", &model));
    model.batching = batching;
    Error *error = submission_init(&submission, function, NULL);
    submission.deadline = deadline;
    if (!error)
        error = api->run(fixture->api.self, &fixture->user, &model, &submission, inputs, &out->run);
    executable_release(model.outline);
    return error;
}

/* One row: base, base + 1. */
static Error *make_row(ServiceFixture *fixture, const char *function, ModelBatching batching,
    float base, Request *out) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    const Shape shape = {.rank = 2, .dims = {1, 2}};
    fixture_add_floats(&inputs, "a", &shape, base);
    return make(fixture, function, batching, NAN, &inputs, out);
}

static void wake(void *self) { (void)sem_post(self); }

static void begin(Request *request) {
    (void)sem_init(&request->done, 0, 0);
    request->run.begin(request->run.self, (HttpWaker){.wake = wake, .self = &request->done});
}

static Error *finish(Request *request) {
    while (sem_wait(&request->done) != 0) continue;
    (void)sem_destroy(&request->done);
    return request->run.end(request->run.self, &request->outputs, &request->times);
}

static float first_of(const Request *request) {
    return *(const float *)request->outputs.items[0].data;
}

/* The delay is so long that only a full run ends the test in time. */
static void test_run_joiner_runs_a_full_batch_at_once(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    Request requests[REQUESTS_MAX] = {0};
    size_t leaders = 0;
    service_fixture_init(&fixture);
    register_program(&fixture);
    for (int i = 0; i < REQUESTS_MAX; i++) {
        assert_ok(make_row(&fixture, "main", (ModelBatching){REQUESTS_MAX, LONG_US},
            (float)(10 * i), &requests[i]));
        begin(&requests[i]);
    }
    for (int i = 0; i < REQUESTS_MAX; i++) {
        Request *request = &requests[i];
        assert_ok(finish(request));
        assert_true(request->outputs.count == 1 && request->outputs.items[0].size == 8);
        assert_int_equal(request->outputs.items[0].shape.dims[0], 1);
        assert_true(first_of(request) == (float)(20 * i));
        assert_int_equal(request->times.batch_size, REQUESTS_MAX);
        assert_int_equal(request->times.items, 1);
        leaders += request->times.leads;
        array_list_deinit(&request->outputs);
    }
    assert_int_equal(leaders, 1);
}

/* Requests of other shapes run apart; the delay ends the wait of both. */
static void test_run_joiner_waits_no_longer_than_the_delay(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    Request requests[REQUESTS_MAX] = {0};
    service_fixture_init(&fixture);
    register_program(&fixture);
    for (int i = 0; i < REQUESTS_MAX; i++) {
        assert_ok(make_row(&fixture, i < 3 ? "main" : "same", (ModelBatching){100, 30000}, (float)i,
            &requests[i]));
        begin(&requests[i]);
    }
    for (int i = 0; i < REQUESTS_MAX; i++) {
        assert_ok(finish(&requests[i]));
        assert_int_equal(requests[i].times.leads, i == 0 || i == 3);
        assert_int_equal(requests[i].times.batch_size, i < 3 ? 3 : 1);
        assert_true(requests[i].times.queue_ns >= 1000000);
        array_list_deinit(&requests[i].outputs);
    }
}

static void test_run_joiner_heeds_deadlines(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    Request request = {0};
    ArrayList OWN_ARRAYS(inputs) = {0};
    const Shape shape = {.rank = 2, .dims = {1, 2}};
    service_fixture_init(&fixture);
    register_program(&fixture);
    fixture_add_floats(&inputs, "a", &shape, 1);
    assert_ok(make(&fixture, "main", (ModelBatching){8, LONG_US}, 1, &inputs, &request));
    begin(&request);
    assert_ok(finish(&request));
    array_list_deinit(&request.outputs);
}

static Error *make_index(ServiceFixture *fixture, int64_t index, Request *out) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    NamedArray array;
    assert_ok(named_array_init(&array, "i", DTYPE_INT64, &(Shape){.rank = 1, .dims = {1}}));
    memcpy(array.data, &index, sizeof index);
    assert_ok(array_list_add(&inputs, &array));
    return make(fixture, "pick", (ModelBatching){3, LONG_US}, NAN, &inputs, out);
}

/* A request whose values make the joined run fail does not fail its neighbours; nor does a function
 * whose outputs have no items. */
static void test_run_joiner_keeps_failures_apart(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    Request requests[3] = {0};
    service_fixture_init(&fixture);
    register_program(&fixture);
    for (int i = 0; i < 3; i++) {
        assert_ok(make_index(&fixture, i == 1 ? 9 : 1, &requests[i]));
        begin(&requests[i]);
    }
    for (int i = 0; i < 3; i++) {
        Error *error = finish(&requests[i]);
        assert_int_equal(error != NULL, i == 1);
        if (!error) assert_true(first_of(&requests[i]) == 7);
        error_free(error); /* checked above */
        array_list_deinit(&requests[i].outputs);
    }
    for (int i = 0; i < 3; i++) {
        assert_ok(make_row(&fixture, "same", (ModelBatching){3, LONG_US}, 1, &requests[i]));
        begin(&requests[i]);
    }
    for (int i = 0; i < 3; i++) {
        assert_ok(finish(&requests[i]));
        assert_true(first_of(&requests[i]) == 5 && requests[i].outputs.items[0].size == 8);
        assert_int_equal(requests[i].times.batch_size, 1);
        array_list_deinit(&requests[i].outputs);
    }
}

static void test_run_joiner_lets_requests_go(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    Request requests[3] = {0};
    service_fixture_init(&fixture);
    register_program(&fixture);
    for (int i = 0; i < 3; i++)
        assert_ok(make_row(&fixture, "forever", (ModelBatching){2, LONG_US}, 1, &requests[i]));
    begin(&requests[0]);
    requests[0].run.cut(requests[0].run.self); /* while it waits */
    assert_fails(CANCELLED, finish(&requests[0]));
    begin(&requests[1]);
    begin(&requests[2]); /* under way now */
    requests[1].run.cut(requests[1].run.self);
    requests[2].run.cut(requests[2].run.self);
    assert_fails(CANCELLED, finish(&requests[1]));
    assert_fails(CANCELLED, finish(&requests[2]));
}

static Error *limit_queue(Connection *catalog, void *context) {
    (void)context;
    return tenants_set_quota(catalog, TENANT_DEFAULT, QUOTA_QUEUED_JOBS, 1);
}

static void test_run_joiner_counts_waiting_requests_as_queued(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    Request first = {0}, second = {0};
    service_fixture_init(&fixture);
    register_program(&fixture);
    assert_ok(catalog_run(fixture.node.catalog, limit_queue, NULL));
    assert_ok(make_row(&fixture, "main", (ModelBatching){2, LONG_US}, 1, &first));
    begin(&first);
    assert_fails_saying(EXHAUSTED, "queued_jobs",
        make_row(&fixture, "main", (ModelBatching){2, LONG_US}, 1, &second));
    first.run.cut(first.run.self);
    assert_fails(CANCELLED, finish(&first));
    assert_ok(make_row(&fixture, "main", (ModelBatching){2, 0}, 1, &second));
    begin(&second);
    assert_ok(finish(&second));
    array_list_deinit(&second.outputs);
}

int test_run_joiner(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_joiner_runs_a_full_batch_at_once),
        cmocka_unit_test(test_run_joiner_waits_no_longer_than_the_delay),
        cmocka_unit_test(test_run_joiner_heeds_deadlines),
        cmocka_unit_test(test_run_joiner_keeps_failures_apart),
        cmocka_unit_test(test_run_joiner_lets_requests_go),
        cmocka_unit_test(test_run_joiner_counts_waiting_requests_as_queued),
    };
    return cmocka_run_group_tests_name("run_joiner", tests, NULL, NULL);
}
