#include <math.h>

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/everywhere.h"

static void test_coordinates_come_row_by_row(void **state) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16,
        DTYPE_INT8, DTYPE_INT32, DTYPE_INT64, DTYPE_BOOL};
    const double x[6] = {0, 1, -0.0, 1, 0, 1};
    (void)state;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        DeviceCall call = {.operator_name = "NonZero", .input_count = 1};
        call.inputs[0] = device_tensor(dtypes[i], x, 2, 2, 3);
        everywhere_check(&call, (double[]){0, 1, 1, 1, 0, 2}, 0);
        everywhere_release(&call);
    }
}

static void check_shape(Tensor *owned_input, int64_t rows, int64_t columns) {
    Tensor *out = NULL;
    DeviceCall call = {.operator_name = "NonZero", .input_count = 1, .inputs = {owned_input}};
    everywhere_run(&call, &out);
    assert_int_equal(out->shape.rank, 2);
    assert_int_equal(out->shape.dims[0], rows);
    assert_int_equal(out->shape.dims[1], columns);
    tensor_release(out);
    everywhere_release(&call);
}

static void test_nothing_a_scalar_and_nan(void **state) {
    const double zeros[3] = {0, 0, 0}, nan = (double)NAN;
    (void)state;
    check_shape(device_tensor(DTYPE_INT32, zeros, 1, 3), 1, 0);
    check_shape(device_tensor(DTYPE_INT32, zeros, 3, 2, 0, 5), 3, 0);
    check_shape(device_tensor(DTYPE_FLOAT32, &nan, 0), 0, 1);
    check_shape(device_tensor(DTYPE_FLOAT32, zeros, 0), 0, 0);
}

/* Whoever rewrites the input between counting and writing gets an error, not an overrun. */
static void test_an_input_that_grows_after_it_was_counted_is_an_error(void **state) {
    (void)state;
    int32_t x[4] = {1, 0, 0, 0};
    int64_t to[2] = {-1, -1};
    TensorSpec spec = {.present = true, .dtype = DTYPE_INT32, .shape = {1, {4}}};
    OWN(Attributes, attributes) = NULL;
    assert_ok(attributes_create(&attributes));
    PlanRequest request = {.operator_info = operator_find("NonZero"),
        .attributes = attributes,
        .input_count = 1,
        .output_count = 1,
        .inputs = &spec};
    assert_ok(operator_infer(&request));
    OWN(Plan, plan) = NULL;
    assert_ok(everywhere_cpu()->class_->plan(everywhere_cpu(), &request, &plan));
    uint64_t input = (uint64_t)(uintptr_t)x, output = (uint64_t)(uintptr_t)to;
    Launch launch = {.inputs = &input, .outputs = &output, .threads = 1};
    Shape shape = plan->outputs[0].shape;
    assert_ok(plan->measure(plan, &launch, &shape));
    assert_int_equal(shape.dims[1], 1);
    x[2] = 5;
    assert_fails_saying(FAILED, "changed", plan->launch(plan, &launch, &shape));
    assert_true(to[1] == -1);
    x[0] = x[2] = 0;
    assert_fails_saying(FAILED, "changed", plan->launch(plan, &launch, &shape));
}

int test_cpu_non_zero(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coordinates_come_row_by_row),
        cmocka_unit_test(test_nothing_a_scalar_and_nan),
        cmocka_unit_test(test_an_input_that_grows_after_it_was_counted_is_an_error),
    };
    return cmocka_run_group_tests_name("cpu_non_zero", tests, NULL, NULL);
}
