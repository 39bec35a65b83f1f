#include "tests/kernels/fixtures/string_fixture.h"

static void test_string_tensor_holds_texts_of_any_length(void **state) {
    (void)state;
    Tensor *tensor = string_fixture_tensor("one||three", 1, (int64_t[]){3});
    assert_int_equal(tensor_bytes(tensor), 4 * 8 + 8);
    string_fixture_expect(tensor, "[3] one||three");
    tensor_release(tensor);
    tensor = string_fixture_tensor("", 2, (int64_t[]){2, 0});
    assert_int_equal(tensor_bytes(tensor), 0);
    string_fixture_expect(tensor, "[2, 0]");
    tensor_release(tensor);
}

static void test_string_tensor_checks_bytes_from_outside(void **state) {
    (void)state;
    static const struct {
        uint64_t offsets[3];
        const char *text, *says;
    } rows[] = {
        {{1, 2, 3}, "abc", "string 0 of 2 begins at byte 1 of 3"},
        {{0, 3, 2}, "abc", "string 2 of 2 begins at byte 2 of 3"},
        {{0, 1, 4}, "abc", "string 2 of 2 begins at byte 4 of 3"},
        {{0, UINT64_MAX, 3}, "abc", "string 1 of 2 begins at byte 18446744073709551615 of 3"},
        {{0, 1, 2}, "abc", "strings of 2 bytes in 3"},
        {{0, 1, 3}, "a\xc3(", "string 1 is not UTF-8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char bytes[27];
        memcpy(bytes, rows[i].offsets, 24);
        memcpy(bytes + 24, rows[i].text, 3);
        assert_fails_saying(INVALID, rows[i].says, string_tensor_check_bytes(bytes, 27, 2));
    }
    uint64_t none[2] = {0, 0};
    assert_fails_saying(INVALID, "16 bytes for 2 strings", string_tensor_check_bytes(none, 16, 2));
    assert_ok(string_tensor_check_bytes(none, 16, 1));
    assert_ok(string_tensor_check_bytes(NULL, 0, 0));
}

static void test_string_tensor_has_its_storage_for_itself(void **state) {
    (void)state;
    Tensor *tensor = string_fixture_tensor("a|b", 1, (int64_t[]){2}), *other = NULL;
    const Shape two = shape_make(1, (int64_t[]){2}), nine = shape_make(1, (int64_t[]){9});
    const Shape square = shape_make(2, (int64_t[]){1, 2});
    assert_fails_saying(INVALID, "strings at byte 8 of a storage",
        tensor_create(tensor->storage, 8, DTYPE_STRING, &two, &other));
    assert_fails_saying(INVALID, "9 strings in 26 bytes",
        tensor_create(tensor->storage, 0, DTYPE_STRING, &nine, &other));
    assert_ok(tensor_reshape(tensor, &square, &other));
    string_fixture_expect(other, "[1, 2] a|b");
    tensor_release(other);
    assert_ok(tensor_create_copy_on_host(device_host(), tensor, &other));
    string_fixture_expect(other, "[2] a|b");
    tensor_release(other);
    tensor_release(tensor);
}

int test_string_tensor(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_string_tensor_holds_texts_of_any_length),
        cmocka_unit_test(test_string_tensor_checks_bytes_from_outside),
        cmocka_unit_test(test_string_tensor_has_its_storage_for_itself),
    };
    return cmocka_run_group_tests_name("string_tensor", tests, NULL, NULL);
}
