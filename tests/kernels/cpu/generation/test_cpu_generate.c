#include <math.h>

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/everywhere.h"

static void test_constant_of_shape_is_zero_without_a_value(void **state) {
    (void)state;
    DeviceCall call = {.operator_name = "ConstantOfShape", .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_INT64, (double[]){2, 3}, 1, 2);
    everywhere_check(&call, (double[6]){0}, 0);
    everywhere_release(&call);
    call.inputs[0] = device_tensor(DTYPE_INT64, (double[]){0}, 1, 0);
    everywhere_check(&call, (double[]){0}, 0);
    everywhere_release(&call);
}

/* The value's bytes are the plan's own: the attribute may be gone when it is launched. */
static void test_constant_of_shape_repeats_its_value(void **state) {
    static const DType dtypes[] = {DTYPE_INT8, DTYPE_FLOAT16, DTYPE_FLOAT32, DTYPE_INT64};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const double seven = 7, count = 100000;
        OWN(Attributes, attributes) = NULL;
        assert_ok(attributes_create(&attributes));
        Tensor *value = device_tensor(dtypes[i], &seven, 1, 1);
        Tensor *shape = device_tensor(DTYPE_INT64, &count, 1, 1);
        assert_ok(attributes_set_tensor(attributes, "value", value));
        assert_ok(attributes_check(attributes, operator_find("ConstantOfShape")));
        TensorSpec spec = tensor_spec(shape);
        const void *values[1] = {tensor_data(shape)};
        PlanRequest request = {.operator_info = operator_find("ConstantOfShape"),
            .attributes = attributes,
            .input_count = 1,
            .output_count = 1,
            .inputs = &spec,
            .values = values};
        assert_ok(operator_infer(&request));
        OWN(Plan, plan) = NULL;
        Device *device = everywhere_cpu();
        assert_ok(device->class_->plan(device, &request, &plan));
        Tensor *out = NULL;
        assert_ok(tensor_create_on_host(device_host(), dtypes[i], &request.outputs[0].shape, &out));
        uint64_t input = 0, output = tensor_address(out);
        Launch launch = {.inputs = &input, .outputs = &output, .threads = 3};
        assert_ok(plan->launch(plan, &launch, &out->shape));
        for (int64_t k = 0; k < 100000; k += 99) assert_true(device_tensor_get(out, k) == 7);
        assert_true(device_tensor_get(out, 99999) == 7);
        tensor_release(out);
        tensor_release(value);
        tensor_release(shape);
    }
}

static void range(DType dtype, double start, double limit, double step, const double *expected) {
    DeviceCall call = {.operator_name = "Range", .input_count = 3};
    call.inputs[0] = device_tensor(dtype, &start, 0);
    call.inputs[1] = device_tensor(dtype, &limit, 0);
    call.inputs[2] = device_tensor(dtype, &step, 0);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_ranges_up_down_and_empty(void **state) {
    (void)state;
    range(DTYPE_INT64, 3, 9, 2, (double[]){3, 5, 7});
    range(DTYPE_INT32, 5, -2, -3, (double[]){5, 2, -1});
    range(DTYPE_INT16, 5, 5, 1, (double[]){0});
    range(DTYPE_FLOAT32, 1, 2, 0.25, (double[]){1, 1.25, 1.5, 1.75});
    range(DTYPE_FLOAT64, 1, 0, -0.5, (double[]){1, 0.5});
    range(DTYPE_FLOAT16, 0, 1.5, 0.5, (double[]){0, 0.5, 1});
    range(DTYPE_BFLOAT16, 0, 1.5, 0.5, (double[]){0, 0.5, 1});
}

static void test_shape_and_size_come_from_the_shape_alone(void **state) {
    const Shape shape = {3, {4, 0, 6}};
    (void)state;
    DeviceCall call = {.operator_name = "Shape", .input_count = 1};
    call.inputs[0] = device_tensor_random(DTYPE_BOOL, &shape, 0, 1, 1);
    everywhere_check(&call, (double[]){4, 0, 6}, 0);
    call.attributes = "{start=-2, end=9}";
    everywhere_check(&call, (double[]){0, 6}, 0);
    call.attributes = "{start=-9, end=-2}";
    everywhere_check(&call, (double[]){4}, 0);
    call.attributes = NULL;
    call.operator_name = "Size";
    everywhere_check(&call, (double[]){0}, 0);
    everywhere_release(&call);
}

static void one_hot(const char *attributes, DType index_dtype, DType dtype, const double *indices,
    const double *expected) {
    const double depth = 3, values[2] = {2, 5};
    DeviceCall call = {.operator_name = "OneHot", .attributes = attributes, .input_count = 3};
    call.inputs[0] = device_tensor(index_dtype, indices, 1, 4);
    call.inputs[1] = device_tensor(DTYPE_INT64, &depth, 0);
    call.inputs[2] = device_tensor(dtype, values, 1, 2);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_one_hot_turns_nothing_on_for_an_index_outside(void **state) {
    static const DType dtypes[] = {DTYPE_INT8, DTYPE_INT16, DTYPE_INT32, DTYPE_INT64, DTYPE_FLOAT32,
        DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT64};
    const double indices[4] = {0, 2, 3, -1};
    (void)state;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        one_hot(NULL, dtypes[i], DTYPE_FLOAT32, indices,
            (double[]){5, 2, 2, 2, 2, 5, 2, 2, 2, 2, 2, 5});
        one_hot("{axis=0}", dtypes[i], DTYPE_INT8, indices,
            (double[]){5, 2, 2, 2, 2, 2, 2, 2, 2, 5, 2, 5});
    }
    const double huge[4] = {1, 4e9, 2, 200};
    one_hot(NULL, DTYPE_UINT32, DTYPE_INT64, huge, (double[]){2, 5, 2, 2, 2, 2, 2, 2, 5, 2, 2, 2});
    const double wide[4] = {1, 1.8e19, 0, 3};
    one_hot(NULL, DTYPE_UINT64, DTYPE_INT64, wide, (double[]){2, 5, 2, 2, 2, 2, 5, 2, 2, 2, 2, 2});
}

static void eye(const char *attributes, DType dtype, const double *expected) {
    const double x[6] = {9, 9, 9, 9, 9, 9};
    DeviceCall call = {.operator_name = "EyeLike", .attributes = attributes, .input_count = 1};
    call.inputs[0] = device_tensor(dtype, x, 2, 2, 3);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_ones_stand_along_a_diagonal(void **state) {
    (void)state;
    eye(NULL, DTYPE_FLOAT16, (double[]){1, 0, 0, 0, 1, 0});
    eye("{k=2}", DTYPE_INT64, (double[]){0, 0, 1, 0, 0, 0});
    eye("{k=-1, dtype=bool}", DTYPE_UINT8, (double[]){0, 0, 0, 1, 0, 0});
    eye("{k=9223372036854775807}", DTYPE_FLOAT32, (double[6]){0});
    eye("{k=-9223372036854775807}", DTYPE_FLOAT32, (double[6]){0});
}

int test_cpu_generate(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant_of_shape_is_zero_without_a_value),
        cmocka_unit_test(test_constant_of_shape_repeats_its_value),
        cmocka_unit_test(test_ranges_up_down_and_empty),
        cmocka_unit_test(test_shape_and_size_come_from_the_shape_alone),
        cmocka_unit_test(test_one_hot_turns_nothing_on_for_an_index_outside),
        cmocka_unit_test(test_ones_stand_along_a_diagonal),
    };
    return cmocka_run_group_tests_name("cpu_generate", tests, NULL, NULL);
}
