#include "scheduler/http/inference/inference_tensor.h"

#include <string.h>

#include "scheduler/http/client/json_body.h"
#include "tests/support/test_support.h"

static Error *read(const char *text, DType dtype, const Shape *shape, NamedArray *out) {
    OWN_JSON(object) = NULL;
    TRY(json_body_parse_floats(text, strlen(text), &object));
    return inference_tensor_read_json(
        json_object_object_get(object, "data"), "x", dtype, shape, 1000, out);
}

/* Elements as JSON give the elements that were printed, and the bytes that were written. */
static void test_inference_tensor_reads_what_it_prints(void **state) {
    (void)state;
    static const struct {
        DType dtype;
        int64_t count;
        const char *text;
    } cases[] = {
        {DTYPE_BOOL, 2, "[true,false]"},
        {DTYPE_UINT8, 2, "[0,255]"},
        {DTYPE_INT8, 2, "[-128,127]"},
        {DTYPE_UINT16, 2, "[0,65535]"},
        {DTYPE_INT16, 2, "[-32768,32767]"},
        {DTYPE_UINT32, 2, "[0,4294967295]"},
        {DTYPE_INT32, 2, "[-2147483648,2147483647]"},
        {DTYPE_UINT64, 2, "[0,18446744073709551615]"},
        {DTYPE_INT64, 2, "[-9223372036854775808,9223372036854775807]"},
        {DTYPE_FLOAT32, 4, "[NaN,Infinity,-Infinity,1.40129846e-45]"},
        {DTYPE_FLOAT64, 3, "[0.10000000000000001,4.9406564584124654e-324,-0.0]"},
        {DTYPE_STRING, 3, "[\"\",\"a\\u0022\\u005c\",\"\303\251\"]"},
        {DTYPE_FLOAT32, 0, "[]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Shape shape = {.rank = 1, .dims = {cases[i].count}};
        NamedArray array = {0}, again = {0};
        TextBuilder OWN_TEXT(text) = {0};
        TextBuilder OWN_TEXT(bytes) = {0};
        TextBuilder OWN_TEXT(json) = {0};
        text_appendf(&json, "{\"data\":%s}", cases[i].text);
        assert_ok(read(text_builder_get(&json), cases[i].dtype, &shape, &array));
        assert_ok(inference_tensor_print(&array, &text));
        assert_string_equal(text_builder_get(&text), cases[i].text);
        inference_tensor_write(&array, &bytes);
        assert_true(bytes.size == inference_tensor_size(&array));
        assert_ok(inference_tensor_read_bytes((const uint8_t *)text_builder_get(&bytes), bytes.size,
            "x", cases[i].dtype, &shape, &again));
        text_builder_deinit(&text);
        assert_ok(inference_tensor_print(&again, &text));
        assert_string_equal(text_builder_get(&text), cases[i].text);
        named_array_deinit(&array);
        named_array_deinit(&again);
    }
}

static void test_inference_tensor_takes_nested_lists(void **state) {
    (void)state;
    const Shape shape = {.rank = 2, .dims = {2, 1}}, scalar = {0};
    NamedArray array = {0};
    assert_ok(read("{\"data\":[[1],[2]]}", DTYPE_INT32, &shape, &array));
    assert_int_equal(((const int32_t *)array.data)[1], 2);
    named_array_deinit(&array);
    assert_ok(read("{\"data\":[7]}", DTYPE_INT32, &scalar, &array));
    assert_int_equal(*(const int32_t *)array.data, 7);
    named_array_deinit(&array);
}

static void test_inference_tensor_refuses_other_elements(void **state) {
    (void)state;
    static const struct {
        const char *text;
        DType dtype;
        const char *words;
    } cases[] = {
        {"{\"data\":[1]}", DTYPE_INT32, "1 elements of the 2"},
        {"{\"data\":[1,2,3]}", DTYPE_INT32, "more than the 2"},
        {"{\"data\":[[1,2]]}", DTYPE_INT32, "lengths of its shape"},
        {"{\"data\":[[1],2]}", DTYPE_INT32, "a list is wanted"},
        {"{\"data\":[[[1]],[[2]]]}", DTYPE_INT32, "an integer is wanted"},
        {"{\"data\":[1,1.5]}", DTYPE_INT32, "an integer is wanted"},
        {"{\"data\":[1,256]}", DTYPE_UINT8, "that the type holds"},
        {"{\"data\":[-1,1]}", DTYPE_UINT64, "that the type holds"},
        {"{\"data\":[1,9223372036854775808]}", DTYPE_INT64, "that the type holds"},
        {"{\"data\":[1,128]}", DTYPE_INT8, "that the type holds"},
        {"{\"data\":[\"1\",2]}", DTYPE_FLOAT32, "a number is wanted"},
        {"{\"data\":[null,2]}", DTYPE_FLOAT64, "a number is wanted"},
        {"{\"data\":[2,1]}", DTYPE_BOOL, "true or false is wanted"},
        {"{\"data\":[\"a\",1]}", DTYPE_STRING, "a text is wanted"},
        {"{\"data\":[\"a\",\"b\\u0000c\"]}", DTYPE_STRING, "without NUL"},
        {"{\"data\":{}}", DTYPE_INT32, "an integer is wanted"},
    };
    const Shape shape = {.rank = 2, .dims = {2, 1}}, large = {.rank = 1, .dims = {1001}};
    const Shape wraps = {.rank = 2, .dims = {16, (1LL << 60) + 2}};
    NamedArray array = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails_saying(
            INVALID, cases[i].words, read(cases[i].text, cases[i].dtype, &shape, &array));
    assert_fails(UNSUPPORTED, read("{\"data\":[1,2]}", DTYPE_FLOAT16, &shape, &array));
    assert_fails_saying(
        INVALID, "fewer elements", read("{\"data\":[]}", DTYPE_UINT8, &large, &array));
    assert_fails(INVALID, read("{\"data\":[]}", DTYPE_UINT8, &wraps, &array));
}

static void test_inference_tensor_refuses_other_bytes(void **state) {
    (void)state;
    static const uint8_t bytes[] = {1, 0, 0, 0, 'a', 2, 0, 0, 0, 'b', 0};
    static const uint8_t broken[] = {2, 0, 0, 0, 0xc3, 0x28, 0, 0, 0, 0};
    const Shape two = {.rank = 1, .dims = {2}};
    const Shape wraps = {.rank = 2, .dims = {4, (1LL << 60) + 2}};
    NamedArray array = {0};
    assert_fails_saying(INVALID, "unexpected size 5",
        inference_tensor_read_bytes(bytes, 5, "x", DTYPE_INT32, &two, &array));
    assert_fails(INVALID, inference_tensor_read_bytes(bytes, 8, "x", DTYPE_INT32, &wraps, &array));
    assert_fails(INVALID, inference_tensor_read_bytes(bytes, 8, "x", DTYPE_STRING, &wraps, &array));
    assert_fails_saying(INVALID, "are missing",
        inference_tensor_read_bytes(bytes, 10, "x", DTYPE_STRING, &two, &array));
    assert_fails_saying(INVALID, "UTF-8 without NUL",
        inference_tensor_read_bytes(bytes, 11, "x", DTYPE_STRING, &two, &array));
    assert_fails_saying(INVALID, "UTF-8 without NUL",
        inference_tensor_read_bytes(broken, 10, "x", DTYPE_STRING, &two, &array));
    const Shape one = {.rank = 1, .dims = {1}};
    assert_fails_saying(INVALID, "behind the last",
        inference_tensor_read_bytes(bytes, 6, "x", DTYPE_STRING, &one, &array));
    assert_fails(INVALID,
        inference_tensor_read_bytes((const uint8_t *)"\2\1", 2, "x", DTYPE_BOOL, &two, &array));
}

static void test_inference_tensor_names_types(void **state) {
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        const char *name = inference_type_name((DType)dtype);
        if (name) assert_int_equal(inference_type_find(name), dtype);
    }
    assert_int_equal(inference_type_find("FP8"), DTYPE_NONE);
    assert_null(inference_type_name(DTYPE_INT4));
    assert_string_equal(inference_type_name(DTYPE_STRING), "BYTES");
}

int test_inference_tensor(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inference_tensor_reads_what_it_prints),
        cmocka_unit_test(test_inference_tensor_takes_nested_lists),
        cmocka_unit_test(test_inference_tensor_refuses_other_elements),
        cmocka_unit_test(test_inference_tensor_refuses_other_bytes),
        cmocka_unit_test(test_inference_tensor_names_types),
    };
    return cmocka_run_group_tests_name("inference_tensor", tests, NULL, NULL);
}
