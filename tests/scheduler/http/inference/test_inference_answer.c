#include "scheduler/http/inference/inference_answer.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/test_support.h"

static void make_outputs(ArrayList *out) {
    static const DType dtypes[] = {DTYPE_UINT8, DTYPE_FLOAT16, DTYPE_INT4};
    static const char *const names[] = {"y", "h", "q"};
    for (int i = 0; i < 3; i++) {
        NamedArray array = {0};
        assert_ok(named_array_init(&array, names[i], dtypes[i], &(Shape){.rank = 1, .dims = {2}}));
        array.data[0] = 'A';
        assert_ok(array_list_add(out, &array));
    }
}

static Error *answer(const InferenceRequest *request, HttpResponse *response) {
    ArrayList OWN_ARRAYS(outputs) = {0};
    make_outputs(&outputs);
    return inference_answer_write(request, "m\"", 3, &outputs, response);
}

static void test_inference_answer_puts_bytes_behind_json(void **state) {
    (void)state;
    static const char json[] =
        "{\"model_name\":\"m\\u0022\",\"model_version\":\"3\",\"id\":\"7\",\"outputs\":["
        "{\"name\":\"y\",\"datatype\":\"UINT8\",\"shape\":[2],\"data\":[65,0]},"
        "{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[2],\"parameters\":{\"binary_data_size\":"
        "4}}]}";
    InferenceOutput wanted[] = {{.name = "h", .binary = true}, {.name = "y"}};
    const InferenceRequest request = {.id = "7", .outputs = wanted, .output_count = 2};
    HttpResponse OWN_RESPONSE(response);
    char length[32];
    http_response_init(&response);
    assert_ok(answer(&request, &response));
    assert_int_equal(response.text.size, sizeof json - 1 + 4);
    assert_memory_equal(text_builder_get(&response.text), json, sizeof json - 1);
    assert_memory_equal(text_builder_get(&response.text) + sizeof json - 1, "A\0\0\0", 4);
    (void)snprintf(length, sizeof length, "%zu", sizeof json - 1);
    assert_string_equal(response.headers[0].name, "Inference-Header-Content-Length");
    assert_string_equal(response.headers[0].value, length);
    assert_string_equal(response.content_type, "application/octet-stream");
}

static void test_inference_answer_makes_classes(void **state) {
    (void)state;
    InferenceOutput wanted[] = {{.name = "y", .classes = 1}};
    const InferenceRequest request = {.outputs = wanted, .output_count = 1};
    HttpResponse OWN_RESPONSE(response);
    http_response_init(&response);
    assert_ok(answer(&request, &response));
    assert_non_null(strstr(text_builder_get(&response.text),
        "\"datatype\":\"BYTES\",\"shape\":[1],\"data\":[\"65.000000:0\"]}"));
    assert_int_equal(response.header_count, 0);
    assert_string_equal(response.content_type, "application/json");
}

static void test_inference_answer_refuses_outputs(void **state) {
    (void)state;
    HttpResponse OWN_RESPONSE(response);
    InferenceOutput absent[] = {{.name = "absent"}}, half[] = {{.name = "h"}};
    http_response_init(&response);
    assert_fails_saying(INVALID, "no output absent",
        answer(&(InferenceRequest){.outputs = absent, .output_count = 1}, &response));
    assert_fails_saying(UNSUPPORTED, "binary_data",
        answer(&(InferenceRequest){.outputs = half, .output_count = 1}, &response));
    assert_fails_saying(UNSUPPORTED, "no type for int4",
        answer(&(InferenceRequest){.binary_outputs = true}, &response));
}

int test_inference_answer(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inference_answer_puts_bytes_behind_json),
        cmocka_unit_test(test_inference_answer_makes_classes),
        cmocka_unit_test(test_inference_answer_refuses_outputs),
    };
    return cmocka_run_group_tests_name("inference_answer", tests, NULL, NULL);
}
