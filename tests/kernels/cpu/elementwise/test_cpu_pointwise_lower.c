#include <math.h>

#include "kernels/planning/pointwise_program.h"
#include "kernels/cpu/elementwise/cpu_pointwise.h"
#include "tests/kernels/fixtures/everywhere.h"

/* What may be fused can be run fused. */
static void test_every_operator_a_program_takes_is_known(void **state) {
    (void)state;
    for (OperatorId id = 1; id < OPERATOR_COUNT; id++)
        if (pointwise_program_takes(id) && !cpu_pointwise_knows(id))
            fail_msg("%s", operator_get(id)->name);
}

static void check_one(const char *name, const char *attributes, DType dtype, DType second, double a,
    double b, double expected) {
    DeviceCall call = {.operator_name = name, .attributes = attributes};
    call.inputs[0] = device_tensor(dtype, &a, 0);
    call.input_count = second == DTYPE_NONE ? 1 : 2;
    if (second != DTYPE_NONE) call.inputs[1] = device_tensor(second, &b, 0);
    everywhere_check(&call, &expected, 1e-6);
    everywhere_release(&call);
}

static void test_pow_takes_exponents_of_other_types(void **state) {
    (void)state;
    check_one("Pow", NULL, DTYPE_FLOAT32, DTYPE_INT64, 1.5, 3, 3.375);
    check_one("Pow", NULL, DTYPE_INT32, DTYPE_INT32, -3, 3, -27);
    check_one("Pow", NULL, DTYPE_INT64, DTYPE_FLOAT32, 2, 10.5, 1448);
    check_one("Pow", NULL, DTYPE_INT64, DTYPE_FLOAT16, 9, 0.5, 3);
    check_one("Pow", NULL, DTYPE_FLOAT64, DTYPE_FLOAT32, 2, -1, 0.5);
    check_one("Pow", NULL, DTYPE_FLOAT16, DTYPE_FLOAT16, 3, 2, 9);
}

static void test_mod_takes_its_sign_from_the_divisor_or_the_dividend(void **state) {
    (void)state;
    check_one("Mod", NULL, DTYPE_INT32, DTYPE_INT32, -7, 3, 2);
    check_one("Mod", "{fmod=1}", DTYPE_INT32, DTYPE_INT32, -7, 3, -1);
    check_one("Mod", "{fmod=1}", DTYPE_FLOAT32, DTYPE_FLOAT32, -7.5, 3, -1.5);
    check_one("Mod", NULL, DTYPE_INT64, DTYPE_INT64, 5, 0, 0);
    check_one(
        "Div", NULL, DTYPE_INT64, DTYPE_INT64, -9223372036854775808.0, -1, -9223372036854775808.0);
    check_one("Div", NULL, DTYPE_INT32, DTYPE_INT32, -7, 2, -3);
}

static void test_casts_through_several_steps_round_once(void **state) {
    (void)state;
    check_one(
        "Cast", "{to=float16}", DTYPE_FLOAT64, DTYPE_NONE, 1 + 0x1p-11 + 0x1p-40, 0, 1 + 0x1p-10);
    check_one("Cast", "{to=bfloat16}", DTYPE_FLOAT16, DTYPE_NONE, 3.140625, 0, 3.140625);
    check_one("Cast", "{to=int8}", DTYPE_BFLOAT16, DTYPE_NONE, -300, 0, -128);
    check_one("Cast", "{to=bool}", DTYPE_FLOAT16, DTYPE_NONE, -0.0, 0, 0);
    check_one("Cast", "{to=float32}", DTYPE_BOOL, DTYPE_NONE, 1, 0, 1);
    check_one("Cast", "{to=uint8}", DTYPE_INT32, DTYPE_NONE, 257, 0, 1);
    check_one("Cast", "{to=float16}", DTYPE_INT64, DTYPE_NONE, 2049, 0, 2048);
}

static void test_clip_without_limits_and_with_crossed_ones(void **state) {
    static const double x[3] = {-5, 0.5, 7};
    double low = 2, high = 1, crossed[3] = {1, 1, 1}, above[3] = {2, 2, 7};
    (void)state;
    DeviceCall call = {.operator_name = "Clip", .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 1, 3);
    everywhere_check(&call, x, 0);
    call.inputs[1] = device_tensor(DTYPE_FLOAT32, &low, 0);
    call.input_count = 2;
    everywhere_check(&call, above, 0);
    call.inputs[2] = device_tensor(DTYPE_FLOAT32, &high, 0);
    call.input_count = 3;
    everywhere_check(&call, crossed, 0);
    everywhere_release(&call);
}

static void test_variadic_operators_take_one_and_many(void **state) {
    static const double x[2] = {1, 5}, y[2] = {4, (double)NAN}, z[1] = {3};
    double max[2] = {4, (double)NAN}, mean[2] = {8.0 / 3, (double)NAN};
    (void)state;
    DeviceCall call = {.operator_name = "Max", .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 1, 2);
    everywhere_check(&call, x, 0);
    call.inputs[1] = device_tensor(DTYPE_FLOAT32, y, 1, 2);
    call.inputs[2] = device_tensor(DTYPE_FLOAT32, z, 1, 1);
    call.input_count = 3;
    everywhere_check(&call, max, 0);
    call.operator_name = "Mean";
    everywhere_check(&call, mean, 1e-7);
    everywhere_release(&call);
}

int test_cpu_pointwise_lower(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operator_a_program_takes_is_known),
        cmocka_unit_test(test_pow_takes_exponents_of_other_types),
        cmocka_unit_test(test_mod_takes_its_sign_from_the_divisor_or_the_dividend),
        cmocka_unit_test(test_casts_through_several_steps_round_once),
        cmocka_unit_test(test_clip_without_limits_and_with_crossed_ones),
        cmocka_unit_test(test_variadic_operators_take_one_and_many),
    };
    return cmocka_run_group_tests_name("cpu_pointwise_lower", tests, NULL, NULL);
}
