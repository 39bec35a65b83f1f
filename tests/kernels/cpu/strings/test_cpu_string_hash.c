#include "tests/kernels/fixtures/string_fixture.h"

static void expect_hashes(const char *attributes, const char *texts, const uint32_t expected[4]) {
    StringCall call = {.operator_name = "StringHash",
        .attributes = attributes,
        .input_count = 1,
        .output_count = 1};
    call.inputs[0] = string_fixture_tensor(texts, 2, (int64_t[]){2, 2});
    assert_ok(string_call_run(&call));
    assert_int_equal(call.outputs[0]->dtype, DTYPE_UINT32);
    assert_memory_equal(tensor_data(call.outputs[0]), expected, 4 * sizeof *expected);
    string_call_deinit(&call);
}

/* Published values of the hash: texts of 0, 3, 4 and 13 bytes. */
static void test_string_hash_is_the_published_one(void **state) {
    (void)state;
    expect_hashes("{seed=0}", "|abc|test|Hello, world!",
        (uint32_t[]){0, 0xb3dd93faU, 0xba6bd213U, 0xc0363e43U});
    expect_hashes("{seed=2538058380}", "|abc|test|Hello, world!",
        (uint32_t[]){0xebb6c228U, 0xc84a62ddU, 0x704b81dcU, 0x24884cbaU});
}

int test_cpu_string_hash(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_string_hash_is_the_published_one),
    };
    return cmocka_run_group_tests_name("cpu_string_hash", tests, NULL, NULL);
}
