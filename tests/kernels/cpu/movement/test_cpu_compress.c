#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/everywhere.h"

static const double data[6] = {0, 1, 2, 3, 4, 5};

static void test_true_conditions_pick_slices_along_an_axis(void **state) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_INT64, DTYPE_FLOAT16};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        DeviceCall call = {.operator_name = "Compress", .attributes = "{axis=1}", .input_count = 2};
        call.inputs[0] = device_tensor(dtypes[i], data, 2, 2, 3);
        call.inputs[1] = device_tensor(DTYPE_BOOL, (double[]){1, 0, 1}, 1, 3);
        everywhere_check(&call, (double[]){0, 2, 3, 5}, 0);
        everywhere_release(&call);
    }
}

/* Slices beyond the conditions are left out. */
static void test_without_an_axis_elements_are_picked(void **state) {
    (void)state;
    DeviceCall call = {.operator_name = "Compress", .input_count = 2};
    call.inputs[0] = device_tensor(DTYPE_INT8, data, 2, 2, 3);
    call.inputs[1] = device_tensor(DTYPE_BOOL, (double[]){0, 1, 0, 0, 1}, 1, 5);
    everywhere_check(&call, (double[]){1, 4}, 0);
    everywhere_release(&call);
}

static void test_a_condition_that_changes_after_it_was_counted_is_an_error(void **state) {
    (void)state;
    int32_t x[4] = {7, 8, 9, 10}, to[2] = {-1, -1};
    uint8_t condition[4] = {1, 0, 0, 0};
    OWN(Attributes, attributes) = NULL;
    OWN(Plan, plan) = NULL;
    TensorSpec specs[] = {{.present = true, .dtype = DTYPE_INT32, .shape = {1, {4}}},
        {.present = true, .dtype = DTYPE_BOOL, .shape = {1, {4}}}};
    assert_ok(attributes_create(&attributes));
    PlanRequest request = {.operator_info = operator_find("Compress"),
        .attributes = attributes,
        .input_count = 2,
        .output_count = 1,
        .inputs = specs};
    assert_ok(attributes_check(attributes, request.operator_info));
    assert_ok(operator_infer(&request));
    assert_ok(everywhere_cpu()->class_->plan(everywhere_cpu(), &request, &plan));
    uint64_t inputs[] = {(uint64_t)(uintptr_t)x, (uint64_t)(uintptr_t)condition};
    uint64_t output = (uint64_t)(uintptr_t)to;
    Launch launch = {.inputs = inputs, .outputs = &output, .threads = 1};
    Shape shape = plan->outputs[0].shape;
    assert_ok(plan->measure(plan, &launch, &shape));
    assert_int_equal(shape.dims[0], 1);
    condition[2] = 1;
    assert_fails_saying(FAILED, "Compress: the condition changed while it was read",
        plan->launch(plan, &launch, &shape));
    assert_int_equal(to[0], 7);
    assert_int_equal(to[1], -1);
    condition[0] = condition[2] = 0;
    assert_fails_saying(FAILED, "Compress: the condition changed while it was read",
        plan->launch(plan, &launch, &shape));
}

int test_cpu_compress(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_true_conditions_pick_slices_along_an_axis),
        cmocka_unit_test(test_without_an_axis_elements_are_picked),
        cmocka_unit_test(test_a_condition_that_changes_after_it_was_counted_is_an_error),
    };
    return cmocka_run_group_tests_name("cpu_compress", tests, NULL, NULL);
}
