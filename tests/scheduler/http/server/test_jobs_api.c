#include "scheduler/http/server/jobs_api.h"

#include <math.h>

#include <json-c/json_object.h>

#include "tests/support/test_support.h"

static void test_jobs_api_shows_what_is_unknown_as_null(void **state) {
    (void)state;
    JobsApiJob job = {.job = "j",
        .model = "m",
        .tenant = "t",
        .state = "queued",
        .priority = POLICY_HIGH,
        .items_total = -1,
        .instructions = -1,
        .kernel_calls = -1,
        .peak_bytes = -1,
        .submitted = 1.5,
        .started = NAN,
        .finished = NAN,
        .deadline = NAN,
        .checkpoint_age_s = NAN};
    json_object *object;
    assert_ok(jobs_api_job_json(&job, &object));
    assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
        "{\"job\":\"j\",\"model\":\"m\",\"tenant\":\"t\",\"state\":\"queued\",\"items_done\":null,"
        "\"items_total\":null,\"device\":null,\"priority\":\"high\",\"submitted\":1.5,\"started\":"
        "null,\"finished\":null,\"deadline\":null,\"missed\":null,\"feasible\":null,\"earliest_"
        "end\":null,\"device_seconds\":0.0,\"checkpoint_age\":null,\"migrating\":null,"
        "\"why\":null,\"ended\":false,\"outputs\":0,\"instructions\":null,\"kernel_calls\":null,"
        "\"peak_bytes\":null,\"traffic\":null}");
    json_object_put(object);
}

static void test_jobs_api_shows_copies_and_waits(void **state) {
    (void)state;
    const ExecutionTraffic traffic = {.copies_to_host = 1,
        .bytes_to_host = 2,
        .copies_to_device = 3,
        .bytes_to_device = 4,
        .waits = 5};
    json_object *object = json_object_new_object();
    assert_ok(jobs_api_traffic_json(&traffic, object));
    assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
        "{\"traffic\":{\"copies_to_host\":1,\"bytes_to_host\":2,\"copies_to_device\":3,"
        "\"bytes_to_device\":4,\"waits\":5}}");
    json_object_put(object);
}

static void test_jobs_api_shows_verifications(void **state) {
    (void)state;
    JobsApiVerification it = {.job = "j",
        .replay = "r",
        .state = "differs",
        .replay_state = "cancelled",
        .checkpoint = 3,
        .outputs = 5,
        .compared = 4,
        .sequence = 0,
        .determinism_class = "c"};
    json_object *object;
    assert_ok(jobs_api_verification_json(&it, &object));
    assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
        "{\"job\":\"j\",\"state\":\"differs\",\"from\":3,\"outputs\":5,\"compared\":4,\"sequence\":"
        "0,"
        "\"replay\":\"r\",\"replay_state\":\"cancelled\",\"why\":null,\"determinism_class\":{"
        "\"job\":\"c\",\"replay\":null}}");
    json_object_put(object);
}

static void test_jobs_api_shows_devices(void **state) {
    (void)state;
    const JobsApiDevice device = {.device = "sim:1",
        .name = "sim",
        .determinism_class = "c",
        .memory_bytes = 9,
        .free_bytes = 5,
        .job = "j"};
    json_object *object;
    assert_ok(jobs_api_device_json(&device, &object));
    assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
        "{\"device\":\"sim:1\",\"name\":\"sim\",\"memory_bytes\":9,\"free_bytes\":5,"
        "\"determinism_class\":\"c\"}");
    json_object_put(object);
}

int test_jobs_api(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_api_shows_what_is_unknown_as_null),
        cmocka_unit_test(test_jobs_api_shows_copies_and_waits),
        cmocka_unit_test(test_jobs_api_shows_verifications),
        cmocka_unit_test(test_jobs_api_shows_devices),
    };
    return cmocka_run_group_tests_name("jobs_api", tests, NULL, NULL);
}
