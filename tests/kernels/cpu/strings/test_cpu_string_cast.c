#include <math.h>

#include "kernels/tensor/dtype_scalar.h"
#include "tests/kernels/fixtures/string_fixture.h"

static Tensor *numbers(DType dtype, int64_t count, const double *values) {
    Shape shape = shape_make(1, &count);
    Tensor *tensor;
    assert_ok(tensor_create_on_host(device_host(), dtype, &shape, &tensor));
    for (int64_t i = 0; i < count; i++)
        assert_true(dtype_scalar_write(
            dtype, values[i], (char *)tensor_data(tensor) + i * (dtype_bits(dtype) / 8)));
    return tensor;
}

static void print(DType dtype, int64_t count, const double *values, const char *expected) {
    StringCall call = {
        .operator_name = "Cast", .attributes = "{to=string}", .input_count = 1, .output_count = 1};
    call.inputs[0] = numbers(dtype, count, values);
    assert_ok(string_call_run(&call));
    string_fixture_expect(call.outputs[0], expected);
    string_call_deinit(&call);
}

static void test_cast_prints_the_fewest_digits(void **state) {
    (void)state;
    const double reals[] = {0.1, -2, 1e10, 3.14159274, INFINITY, -INFINITY, NAN, -0.0};
    print(DTYPE_FLOAT32, 8, reals, "[8] 0.1|-2|1e+10|3.1415927|INF|-INF|NaN|-0");
    print(DTYPE_FLOAT64, 2, (double[]){0.1, 1.0 / 3}, "[2] 0.1|0.3333333333333333");
    print(DTYPE_FLOAT16, 2, (double[]){0.1, 65504}, "[2] 0.1|6.55e+04");
    print(DTYPE_INT8, 2, (double[]){-128, 7}, "[2] -128|7");
    print(DTYPE_UINT64, 1, (double[]){0x1p63}, "[1] 9223372036854775808");
    print(DTYPE_BOOL, 2, (double[]){1, 0}, "[2] True|False");
}

static Error *read(const char *attributes, const char *texts, int64_t count, const char *expected) {
    StringCall call = {
        .operator_name = "Cast", .attributes = attributes, .input_count = 1, .output_count = 1};
    call.inputs[0] = string_fixture_tensor(texts, 1, &count);
    Error *error = string_call_run(&call);
    if (!error) string_fixture_expect(call.outputs[0], expected);
    string_call_deinit(&call);
    return error;
}

static void test_cast_reads_plain_and_scientific_numbers(void **state) {
    (void)state;
    assert_ok(read(
        "{to=float32}", "3.14|1e-5|+INF|-inf|nan|1E8", 6, "[6] 3.14|1e-05|inf|-inf|nan|1e+08"));
    assert_ok(read("{to=float16}", "0.5", 1, "[1] 0.5"));
    assert_ok(read("{to=int8}", "-128|127|1e2|100.5", 4, "[4] -128|127|100|100"));
    assert_ok(read("{to=int64}", "4611686018427387904", 1, "[1] 4.61169e+18"));
    assert_ok(read("{to=uint64}", "18446744073709551615", 1, "[1] 1.84467e+19"));
}

static void test_cast_reads_bools_as_words_and_numbers(void **state) {
    (void)state;
    assert_ok(read("{to=bool}", "True|False|true|FALSE|1|0|-1|2.5|0.0|-0|1e3|nan", 12,
        "[12] 1|0|1|0|1|0|1|1|0|0|1|1"));
    static const char *const wrong[] = {"", "yes", "Tru", " 1", "true ", "0x1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_fails_saying(FAILED, "is no bool", read("{to=bool}", wrong[i], 1, ""));
}

static void test_cast_fails_on_what_is_no_number(void **state) {
    (void)state;
    static const char *const wrong[] = {"", " 1", "1 ", "0x10", "1e", "one", "1,5", "nan(1)"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_fails_saying(FAILED, "is no float32", read("{to=float32}", wrong[i], 1, ""));
    static const char *const integers[] = {"128", "-129", "inf", "x", "1e300"};
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++)
        assert_fails_saying(FAILED, "is no int8", read("{to=int8}", integers[i], 1, ""));
    assert_fails_saying(
        FAILED, "Cast: string 1, \"-1\", is no uint64", read("{to=uint64}", "1|-1", 2, ""));
}

int test_cpu_string_cast(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cast_prints_the_fewest_digits),
        cmocka_unit_test(test_cast_reads_plain_and_scientific_numbers),
        cmocka_unit_test(test_cast_reads_bools_as_words_and_numbers),
        cmocka_unit_test(test_cast_fails_on_what_is_no_number),
    };
    return cmocka_run_group_tests_name("cpu_string_cast", tests, NULL, NULL);
}
