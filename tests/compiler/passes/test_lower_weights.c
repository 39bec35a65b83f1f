#include "compiler/passes/lower_weights.h"

#include <math.h>

#include "kernels/device/device.h"
#include "tests/support/device_tensor.h"
#include "tests/support/test_support.h"

static void test_bfloat16_weights_are_scaled_turned_and_rounded_once(void **state) {
    (void)state;
    OWN(Tensor, given) = device_tensor(
        DTYPE_FLOAT32, (double[]){1, 2, 3, 0x1.01p0, 0x1.03p0, 0x1.010002p0}, 2, 2, 3);
    const LowerWeights weights = {.tensor = given, .transposed = true, .alpha = 2};
    OWN(Tensor, made) = NULL;
    assert_ok(lower_weights_bfloat16(&weights, &made));
    assert_int_equal(made->dtype, DTYPE_BFLOAT16);
    assert_int_equal(made->shape.dims[0], 3);
    assert_int_equal(made->shape.dims[1], 2);
    static const double wanted[] = {2, 2, 4, 0x1.04p1, 6, 0x1.02p1};
    for (int64_t i = 0; i < 6; i++) assert_true(device_tensor_get(made, i) == wanted[i]);
}

static void test_int8_columns_have_scales_of_their_own(void **state) {
    (void)state;
    OWN(Tensor, given) = device_tensor(
        DTYPE_FLOAT32, (double[]){127, 0, -0.5, 1e-44, -63.5, 0, 1, 0, 0.5, 0, 0.251, 0}, 2, 3, 4);
    const LowerWeights weights = {.tensor = given, .alpha = 1};
    OWN(Tensor, made) = NULL;
    OWN(Tensor, scales) = NULL;
    assert_ok(lower_weights_int8(&weights, &made, &scales));
    static const double wanted[] = {127, 0, -64, 0, -64, 0, 127, 0, 0, 0, 32, 0};
    for (int64_t i = 0; i < 12; i++)
        if (i % 4 != 3) assert_true(device_tensor_get(made, i) == wanted[i]);
    assert_true(device_tensor_get(scales, 0) == 1);
    assert_true(device_tensor_get(scales, 1) == 0);
    assert_true(device_tensor_get(scales, 2) == (double)(float)(1.0 / 127));
}

static void test_filters_keep_their_order_and_have_scales_of_their_own(void **state) {
    (void)state;
    static const double values[] = {1, -2, 254, 4, 0.5, -127, 3, 64};
    OWN(Tensor, given) = device_tensor(DTYPE_FLOAT32, values, 4, 2, 2, 1, 2);
    const LowerWeights weights = {.tensor = given, .is_filters = true, .alpha = 1};
    OWN(Tensor, made) = NULL;
    OWN(Tensor, scales) = NULL;
    OWN(Tensor, halves) = NULL;
    assert_ok(lower_weights_int8(&weights, &made, &scales));
    assert_true(shape_equal(&made->shape, &given->shape));
    static const double wanted[] = {0, -1, 127, 2, 0, -127, 3, 64};
    for (int64_t i = 0; i < 8; i++) assert_true(device_tensor_get(made, i) == wanted[i]);
    assert_true(device_tensor_get(scales, 0) == 2 && device_tensor_get(scales, 1) == 1);
    assert_ok(lower_weights_bfloat16(&weights, &halves));
    assert_true(shape_equal(&halves->shape, &given->shape));
    for (int64_t i = 0; i < 8; i++) assert_true(device_tensor_get(halves, i) == values[i]);
}

static void test_weights_that_are_not_finite_are_not_lowered(void **state) {
    (void)state;
    static const double bad[] = {NAN, INFINITY, 3.4e38};
    for (size_t i = 0; i < 3; i++) {
        OWN(Tensor, given) = device_tensor(DTYPE_FLOAT32, (double[]){1, bad[i]}, 2, 2, 1);
        /* twice 3.4e38 is none of bfloat16's numbers, but int8 has a scale for it */
        const LowerWeights weights = {.tensor = given, .alpha = 2};
        OWN(Tensor, made) = NULL;
        OWN(Tensor, scales) = NULL;
        assert_ok(lower_weights_bfloat16(&weights, &made));
        assert_null(made);
        assert_ok(lower_weights_int8(&weights, &made, &scales));
        assert_int_equal(made != NULL, i == 2);
    }
}

int test_lower_weights(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bfloat16_weights_are_scaled_turned_and_rounded_once),
        cmocka_unit_test(test_int8_columns_have_scales_of_their_own),
        cmocka_unit_test(test_filters_keep_their_order_and_have_scales_of_their_own),
        cmocka_unit_test(test_weights_that_are_not_finite_are_not_lowered),
    };
    return cmocka_run_group_tests_name("lower_weights", tests, NULL, NULL);
}
