#include "serialize/arrays/npz.h"
#include "tests/scheduler/service_fixtures.h"
#include "tests/scheduler/stream_fixtures.h"

static void read_outputs(ServiceFixture *fixture, const char *job, int64_t since,
    JobsApiOutputs *out, ArrayList *out_arrays) {
    ByteWriter OWN_BYTES(file) = {0};
    HttpStream stream = {0};
    assert_ok(
        fixture->api.class_->outputs(fixture->api.self, &fixture->user, job, since, &stream, out));
    assert_ok(stream_pull(&stream, NULL, &file));
    assert_ok(npz_read(file.data, file.size, 1 << 20, out_arrays));
}

/* A batch job's outputs come as one array, in item order; from any item on. */
static void test_job_service_outputs_are_appended(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiJob job;
    service_fixture_init(&fixture);
    assert_ok(service_fixture_submit(&fixture, "four", 5, true, &job));
    service_fixture_wait(&fixture, "succeeded", &job);
    for (int64_t since = 0; since <= 5; since++) {
        ArrayList OWN_ARRAYS(arrays) = {0};
        JobsApiOutputs outputs;
        read_outputs(&fixture, job.job, since, &outputs, &arrays);
        assert_int_equal(outputs.next, 5);
        assert_int_equal(outputs.count, 5 - since);
        assert_int_equal(arrays.count, since < 5);
        if (since == 5) continue;
        assert_int_equal(arrays.items[0].shape.dims[0], 5 - since);
        for (int64_t i = 0; i < 2 * (5 - since); i++)
            assert_true(((const float *)arrays.items[0].data)[i] == 4 * (float)(2 * since + i + 1));
    }
}

static void test_job_service_outputs_of_a_single_run_are_as_they_are(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    ArrayList OWN_ARRAYS(arrays) = {0};
    JobsApiOutputs outputs;
    HttpStream stream = {0};
    JobsApiJob job;
    service_fixture_init(&fixture);
    assert_ok(service_fixture_submit(&fixture, "four", 3, false, &job));
    service_fixture_wait(&fixture, "succeeded", &job);
    read_outputs(&fixture, job.job, 0, &outputs, &arrays);
    assert_int_equal(outputs.count, 1);
    assert_int_equal(arrays.items[0].shape.dims[0], 3);
    assert_fails(NOT_FOUND, fixture.api.class_->outputs(fixture.api.self, &fixture.stranger,
                                job.job, 0, &stream, &outputs));
}

int test_job_service_outputs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_service_outputs_are_appended),
        cmocka_unit_test(test_job_service_outputs_of_a_single_run_are_as_they_are),
    };
    return cmocka_run_group_tests_name("job_service_outputs", tests, NULL, NULL);
}
