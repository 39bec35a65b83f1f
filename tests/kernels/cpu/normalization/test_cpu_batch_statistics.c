#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

/* Channel 0 has mean 2 and variance 1, channel 1 mean 5 and variance 4. */
static const double x[8] = {1, 3, 3, 7, 3, 1, 7, 3};

static DeviceCall make(DType dtype, const char *attributes) {
    DeviceCall call = {.operator_name = "BatchNormalization",
        .attributes = attributes,
        .input_count = 5,
        .output_count = 3};
    call.inputs[0] = device_tensor(dtype, x, 3, 2, 2, 2);
    call.inputs[1] = device_tensor(dtype, (double[]){1, 2}, 1, 2);
    call.inputs[2] = device_tensor(dtype, (double[]){0, 10}, 1, 2);
    call.inputs[3] = device_tensor(dtype, (double[]){0, 1}, 1, 2);
    call.inputs[4] = device_tensor(dtype, (double[]){3, 0}, 1, 2);
    return call;
}

static void test_training_uses_its_own_statistics_and_moves_the_running_ones(void **state) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    const double *const expected[3] = {
        (double[]){-1, 1, 8, 12, 1, -1, 12, 8}, (double[]){1, 3}, (double[]){2, 2}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        Tensor *outputs[3] = {NULL};
        DeviceCall call = make(dtypes[i], "{training_mode=1, epsilon=0.0, momentum=0.5}");
        everywhere_run(&call, outputs);
        for (uint32_t k = 0; k < 3; k++) {
            everywhere_compare(outputs[k], expected[k], 1e-6);
            tensor_release(outputs[k]);
        }
        everywhere_release(&call);
    }
}

static void test_statistics_of_another_float64_are_not_taken(void **state) {
    (void)state;
    Tensor *outputs[3] = {NULL};
    DeviceCall call = make(DTYPE_FLOAT32, "{training_mode=1}");
    tensor_release(call.inputs[3]);
    tensor_release(call.inputs[4]);
    call.inputs[3] = device_tensor(DTYPE_FLOAT64, (double[]){0, 1}, 1, 2);
    call.inputs[4] = device_tensor(DTYPE_FLOAT64, (double[]){3, 0}, 1, 2);
    call.device = everywhere_cpu();
    assert_fails(UNSUPPORTED, device_call_run(&call, outputs, NULL));
    everywhere_release(&call);
}

int test_cpu_batch_statistics(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_uses_its_own_statistics_and_moves_the_running_ones),
        cmocka_unit_test(test_statistics_of_another_float64_are_not_taken),
    };
    return cmocka_run_group_tests_name("cpu_batch_statistics", tests, NULL, NULL);
}
