#include <math.h>

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/everywhere.h"
#include "tests/kernels/fixtures/infer_fixture.h"
#include "tests/kernels/fixtures/kernel_call.h"

static void check(const char *attributes, DType dtype, int rows, int columns, const double *scales,
    const double *expected) {
    static const double x[6] = {1, 2, 3, 4, 5, 6};
    DeviceCall call = {.operator_name = "Resize", .attributes = attributes, .input_count = 3};
    call.inputs[0] = device_tensor(dtype, x, 2, rows, columns);
    call.inputs[2] = device_tensor(DTYPE_FLOAT32, scales, 1, 2);
    everywhere_check(&call, expected, 1e-6);
    everywhere_release(&call);
}

static void test_each_mode_gives_known_numbers(void **state) {
    (void)state;
    check("{mode=\"linear\"}", DTYPE_FLOAT32, 2, 3, (double[]){2, 2},
        (double[]){1, 1.25, 1.75, 2.25, 2.75, 3, 1.75, 2, 2.5, 3, 3.5, 3.75, 3.25, 3.5, 4, 4.5, 5,
            5.25, 4, 4.25, 4.75, 5.25, 5.75, 6});
    check("{mode=\"cubic\"}", DTYPE_FLOAT64, 1, 3, (double[]){1, 2},
        (double[]){0.89453125, 1.19140625, 1.66796875, 2.33203125, 2.80859375, 3.10546875});
    check("{}", DTYPE_BOOL, 1, 2, (double[]){2, 2}, (double[]){1, 1, 1, 1, 1, 1, 1, 1});
    check("{}", DTYPE_INT64, 2, 3, (double[]){2, 1.5},
        (double[]){1, 1, 2, 3, 1, 1, 2, 3, 4, 4, 5, 6, 4, 4, 5, 6});
    check("{mode=\"linear\", antialias=1}", DTYPE_FLOAT32, 1, 6, (double[]){1, 0.5},
        (double[]){1.625, 3.5, 5.375});
}

static void test_integers_round_half_to_even(void **state) {
    (void)state;
    /* 1, 1.5, 2.5, 3 between 1 … 3 */
    check("{mode=\"linear\", coordinate_transformation_mode=\"asymmetric\"}", DTYPE_UINT8, 1, 3,
        (double[]){1, 2}, (double[]){1, 2, 2, 2, 3, 3});
}

static void test_what_lies_outside_the_region_has_its_value_exactly(void **state) {
    const double x[6] = {1, 2, 3, 4, 5, 6}, roi[4] = {0, -0.5, 1, 1}, sizes[2] = {5, 4};
    (void)state;
    DeviceCall call = {.operator_name = "Resize",
        .attributes = "{mode=\"cubic\", coordinate_transformation_mode=\"tf_crop_and_resize\", "
                      "extrapolation_value=0.1}",
        .input_count = 4};
    Tensor *out = NULL;
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 2, 2, 3);
    call.inputs[1] = device_tensor(DTYPE_FLOAT64, roi, 1, 4);
    call.inputs[3] = device_tensor(DTYPE_INT64, sizes, 1, 2);
    everywhere_run(&call, &out);
    for (int64_t row = 0; row < 5; row++)
        assert_true(device_tensor_get(out, row * 4) == (double)0.1f);
    tensor_release(out);
    everywhere_release(&call);
}

/* Two axes and channels behind them, each growing or shrinking, against the definition. */
static void test_axes_in_any_order_agree_with_the_definition(void **state) {
    static const int64_t sizes[][2] = {{13, 21}, {13, 3}, {3, 21}, {2, 3}, {5, 21}, {9, 7}};
    (void)state;
    for (size_t s = 0; s < 12; s++) {
        const int64_t channels = s % 2 ? 3 : 1, *to = sizes[s / 2], from[2] = {5, 7};
        const Shape shape = {4, {2, from[0], from[1], channels}};
        const double target[4] = {2, (double)to[0], (double)to[1], (double)channels};
        DeviceCall call = {
            .operator_name = "Resize", .attributes = "{mode=\"linear\"}", .input_count = 4};
        Tensor *out = NULL;
        call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &shape, -1, 1, (uint32_t)s);
        call.inputs[3] = device_tensor(DTYPE_INT64, target, 1, 4);
        everywhere_run(&call, &out);
        for (int64_t i = 0; i < 2 * to[0] * to[1] * channels; i++) {
            int64_t at[2] = {i / channels / to[1] % to[0], i / channels % to[1]}, low[2], high[2];
            double rest[2];
            for (int d = 0; d < 2; d++) {
                const double last = (double)(from[d] - 1);
                double x = ((double)at[d] + 0.5) * (double)from[d] / (double)to[d] - 0.5;
                x = x < 0 ? 0 : x > last ? last : x;
                low[d] = (int64_t)x;
                high[d] = low[d] + 1 < from[d] ? low[d] + 1 : low[d];
                rest[d] = x - (double)low[d];
            }
            const int64_t image = i / channels / to[1] / to[0] * from[0], c = i % channels;
            double rows[2];
            for (int r = 0; r < 2; r++) {
                const int64_t row = (image + (r ? high[0] : low[0])) * from[1];
                const double a = device_tensor_get(call.inputs[0], (row + low[1]) * channels + c);
                const double b = device_tensor_get(call.inputs[0], (row + high[1]) * channels + c);
                rows[r] = a + (b - a) * rest[1];
            }
            const double expected = rows[0] + (rows[1] - rows[0]) * rest[0];
            assert_true(fabs(device_tensor_get(out, i) - expected) < 1e-6);
        }
        tensor_release(out);
        everywhere_release(&call);
    }
}

/* An infinite element beside those that count would otherwise become a NaN. */
static void test_elements_without_weight_are_not_read(void **state) {
    const double x[3] = {1, 2, (double)INFINITY}, sizes[1] = {5};
    (void)state;
    DeviceCall call = {.operator_name = "Resize",
        .attributes = "{mode=\"cubic\", coordinate_transformation_mode=\"align_corners\"}",
        .input_count = 4};
    Tensor *out = NULL;
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 1, 3);
    call.inputs[3] = device_tensor(DTYPE_INT64, sizes, 1, 1);
    everywhere_run(&call, &out);
    assert_true(device_tensor_get(out, 0) == 1);
    assert_true(device_tensor_get(out, 2) == 2);
    tensor_release(out);
    everywhere_release(&call);
}

/* Beyond a megabyte the launch makes the tables. */
static void test_large_tables_are_made_by_the_launch(void **state) {
    const Shape shape = {1, {20000}};
    (void)state;
    for (int linear = 0; linear < 2; linear++) {
        const double sizes[1] = {80000};
        DeviceCall call = {.operator_name = "Resize",
            .attributes = linear ? "{mode=\"linear\"}" : "{}",
            .input_count = 4};
        Tensor *out = NULL;
        Plan *plan;
        call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &shape, -1, 1, 1);
        call.inputs[3] = device_tensor(DTYPE_INT64, sizes, 1, 1);
        call.device = everywhere_cpu();
        assert_ok(device_call_plan(&call, &plan));
        assert_true(plan->workspace_bytes > 1 << 20);
        plan_release(plan);
        everywhere_run(&call, &out);
        for (int64_t i = 2; i + 2 < 80000; i++) {
            const double at = ((double)i + 0.5) / 4 - 0.5;
            const int64_t below = (int64_t)at;
            const double a = device_tensor_get(call.inputs[0], below);
            const double b = device_tensor_get(call.inputs[0], below + 1);
            const double rest = linear ? at - (double)below : at - (double)below > 0.5;
            assert_true(fabs(device_tensor_get(out, i) - (a + (b - a) * rest)) < 1e-6);
        }
        tensor_release(out);
        everywhere_release(&call);
    }
}

static void test_tables_beyond_memory_are_refused(void **state) {
    InferFixture fixture;
    Plan *plan;
    (void)state;
    infer_fixture_init(
        &fixture, "Resize", "{mode=\"linear\"}", "uint8[1] - - int64[1]=1000000000000000000", 1);
    assert_ok(operator_infer(&fixture.request));
    Device *device = kernel_cpu_device();
    assert_fails_saying(EXHAUSTED, "the weights of a resized dimension",
        device->class_->plan(device, &fixture.request, &plan));
    infer_fixture_deinit(&fixture);
}

int test_cpu_resize(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_mode_gives_known_numbers),
        cmocka_unit_test(test_axes_in_any_order_agree_with_the_definition),
        cmocka_unit_test(test_integers_round_half_to_even),
        cmocka_unit_test(test_what_lies_outside_the_region_has_its_value_exactly),
        cmocka_unit_test(test_elements_without_weight_are_not_read),
        cmocka_unit_test(test_large_tables_are_made_by_the_launch),
        cmocka_unit_test(test_tables_beyond_memory_are_refused),
    };
    return cmocka_run_group_tests_name("cpu_resize", tests, NULL, NULL);
}
