#include "tests/kernels/fixtures/everywhere.h"

enum { COUNT = 256 };

/* Runs a program over all codes of the type; expected: of each code, in order of the bits. */
static void check(DType dtype, const char *attributes, const double *expected) {
    double codes[COUNT];
    for (int i = 0; i < COUNT; i++) codes[i] = dtype == DTYPE_INT8 ? (int8_t)i : i;
    DeviceCall call = {
        .operator_name = "FusedElementwise", .attributes = attributes, .input_count = 1};
    call.inputs[0] = device_tensor(dtype, codes, 1, COUNT);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_bytes_are_scaled_and_quantized_again(void **state) {
    double shifted[COUNT], plain[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        const double sum = 2 * (i - 64) + 7;
        shifted[i] = sum > 255 ? 255 : sum < 0 ? 0 : sum;
        plain[i] = (int8_t)i > 63 ? 127 : (int8_t)i < -64 ? -128 : 2 * (int8_t)i;
    }
    check(DTYPE_UINT8,
        "{constants=[64.0, 0.5, 4.0, -7.0, 248.0, 7.0], program=\"Cast i0 {to=float32}; Sub r0 c0; "
        "Mul r1 c1; Mul r2 c2; Round r3; Clip r4 c3 c4; Cast r5 {to=int32}; Add r6 c5; Cast r7 "
        "{to=uint8}\"}",
        shifted);
    check(DTYPE_INT8,
        "{constants=[0.5, 4.0, -128.0, 127.0], program=\"Cast i0 {to=float32}; Mul r0 c0; Mul r1 "
        "c1; Round r2; Clip r3 c2 c3; Cast r4 {to=int8}\"}",
        plain);
}

/* Limits that are no ends of the range, and a step between that is read again. */
static void test_other_steps_stay(void **state) {
    double limited[COUNT], twice[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        limited[i] = i > 200 ? 100 : i / 2.0 - (i % 4 == 1 ? 0.5 : i % 4 == 3 ? -0.5 : 0);
        twice[i] = 1.5 * i - 3;
    }
    check(DTYPE_UINT8,
        "{constants=[0.5, 1.0, 0.0, 100.0], program=\"Cast i0 {to=float32}; Mul r0 c0; Mul r1 c1; "
        "Round r2; Clip r3 c2 c3; Cast r4 {to=uint8}\"}",
        limited);
    check(DTYPE_UINT8,
        "{constants=[2.0, 0.5], program=\"Cast i0 {to=float32}; Sub r0 c0; Mul r1 c1; Add r2 r1\"}",
        twice);
}

int test_cpu_pointwise_bytes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_are_scaled_and_quantized_again),
        cmocka_unit_test(test_other_steps_stay),
    };
    return cmocka_run_group_tests_name("cpu_pointwise_bytes", tests, NULL, NULL);
}
