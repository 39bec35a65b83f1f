#include "scheduler/http/inference/inference_request.h"

#include <string.h>

#include "tests/support/test_support.h"

/* json_size -1: the head does not say. */
static Error *read(const char *body, size_t size, int64_t json_size, InferenceRequest *out) {
    const HttpRequest request = {.body = (const uint8_t *)body,
        .body_size = size,
        .has_json_length = json_size >= 0,
        .json_length = (uint64_t)json_size};
    return inference_request_read(&request, out);
}

static void test_inference_request_reads_all_fields(void **state) {
    (void)state;
    static const char json[] =
        "{\"id\":\"7\",\"parameters\":{\"priority\":2,\"timeout\":1500,\"sequence_id\":9,"
        "\"sequence_start\":true,\"binary_data_output\":true,\"function\":\"f\",\"mine\":1.5},"
        "\"inputs\":[{\"name\":\"a\",\"shape\":[2],\"datatype\":\"UINT8\",\"data\":[1,2]},"
        "{\"name\":\"b\",\"shape\":[2],\"datatype\":\"UINT8\",\"parameters\":{\"binary_data_size\":"
        "2}}],\"outputs\":[{\"name\":\"y\",\"parameters\":{\"binary_data\":false}},"
        "{\"name\":\"z\",\"parameters\":{\"classification\":3}}]}\3\4";
    InferenceRequest OWN_INFERENCE(request) = {0};
    InferenceOutput output;
    assert_ok(read(json, sizeof json - 1, sizeof json - 3, &request));
    assert_string_equal(request.id, "7");
    assert_string_equal(request.function, "f");
    assert_int_equal(request.priority, POLICY_NORMAL);
    assert_int_equal(request.timeout_us, 1500);
    assert_int_equal(request.inputs.count, 2);
    assert_int_equal(request.inputs.items[1].data[1], 4);
    assert_true(inference_request_wants(&request, "y", &output) && !output.binary);
    assert_true(inference_request_wants(&request, "z", &output) && output.binary);
    assert_int_equal(output.classes, 3);
    assert_false(inference_request_wants(&request, "w", &output));
}

static void test_inference_request_has_defaults(void **state) {
    (void)state;
    InferenceRequest OWN_INFERENCE(request) = {0};
    InferenceOutput output;
    assert_ok(read("{\"inputs\":[]}", 13, -1, &request));
    assert_null(request.id);
    assert_int_equal(request.priority, POLICY_HIGH);
    assert_true(inference_request_wants(&request, "any", &output) && !output.binary);
}

#define INPUT(rest) "{\"inputs\":[{\"name\":\"a\",\"datatype\":\"UINT8\"," rest "}]}"

static void test_inference_request_refuses_bodies(void **state) {
    (void)state;
    static const struct {
        const char *body, *words;
    } cases[] = {
        {"", "inputs"},
        {"[]", "an object is wanted"},
        {"{\"inputs\":{}}", "inputs"},
        {"{\"inputs\":[1]}", "inputs"},
        {"{\"inputs\":[],\"more\":1}", "no field more"},
        {"{\"inputs\":[],\"id\":7}", "id"},
        {"{\"inputs\":[],\"parameters\":[]}", "parameters"},
        {"{\"inputs\":[],\"parameters\":{\"x\":{}}}", "parameter x"},
        {"{\"inputs\":[],\"parameters\":{\"priority\":-1}}", "priority"},
        {"{\"inputs\":[],\"parameters\":{\"timeout\":1.5}}", "timeout"},
        {"{\"inputs\":[],\"parameters\":{\"sequence_start\":1}}", "sequence_start"},
        {"{\"inputs\":[],\"parameters\":{\"sequence_id\":true}}", "sequence_id"},
        {"{\"inputs\":[],\"outputs\":[{}]}", "without name"},
        {"{\"inputs\":[],\"outputs\":[{\"name\":\"y\"},{\"name\":\"y\"}]}", "twice"},
        {"{\"inputs\":[{\"shape\":[1],\"datatype\":\"UINT8\",\"data\":[1]}]}", "without name"},
        {"{\"inputs\":[{\"name\":\"a\",\"shape\":[1],\"datatype\":\"FP8\",\"data\":[1]}]}",
            "no type FP8"},
        {INPUT("\"data\":[1]"), "shape"},
        {INPUT("\"shape\":[-1],\"data\":[1]"), "shape"},
        {INPUT("\"shape\":[1.0],\"data\":[1]"), "shape"},
        {INPUT("\"shape\":[18446744073709551615],\"data\":[1]"), "shape"},
        {INPUT("\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"
               "\"data\":[1]"),
            "shape"},
        {INPUT("\"shape\":[1]"), "one of data and"},
        {INPUT("\"shape\":[1],\"data\":[1],\"parameters\":{\"binary_data_size\":1}"),
            "one of data and"},
        {INPUT("\"shape\":[1],\"parameters\":{\"binary_data_size\":1}"), "0 bytes are left"},
        {INPUT("\"shape\":[1],\"parameters\":{\"binary_data_size\":-1}"), "binary_data_size"},
        {INPUT("\"shape\":[1],\"parameters\":{\"binary_data_size\":1e400}"), "binary_data_size"},
    };
    InferenceRequest request;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails_saying(
            INVALID, cases[i].words, read(cases[i].body, strlen(cases[i].body), -1, &request));
    assert_fails(UNSUPPORTED,
        read(INPUT("\"shape\":[1],\"parameters\":{\"shared_memory_region\":\"r\"}"),
            sizeof INPUT("\"shape\":[1],\"parameters\":{\"shared_memory_region\":\"r\"}") - 1, -1,
            &request));
}

/* The header and the body must agree. */
static void test_inference_request_refuses_other_sizes(void **state) {
    (void)state;
    InferenceRequest request;
    assert_fails_saying(INVALID, "and the body has 13", read("{\"inputs\":[]}", 13, 14, &request));
    assert_fails_saying(
        INVALID, "additional input data: 2", read("{\"inputs\":[]}ab", 15, 13, &request));
    assert_fails(INVALID, read("{\"inputs\":[]}", 13, 12, &request));
    assert_fails(UNSUPPORTED, read("{\"inputs\":[]}", 13, 0, &request));
    const HttpRequest large = {
        .body = (const uint8_t *)"", .body_size = (uint64_t)INFERENCE_JSON_MAX + 1};
    assert_fails_saying(TOO_LARGE, "binary_data_size", inference_request_read(&large, &request));
}

int test_inference_request(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inference_request_reads_all_fields),
        cmocka_unit_test(test_inference_request_has_defaults),
        cmocka_unit_test(test_inference_request_refuses_bodies),
        cmocka_unit_test(test_inference_request_refuses_other_sizes),
    };
    return cmocka_run_group_tests_name("inference_request", tests, NULL, NULL);
}
