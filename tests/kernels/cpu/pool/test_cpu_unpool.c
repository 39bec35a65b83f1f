#include "tests/kernels/fixtures/everywhere.h"

static DeviceCall call_of(const double *indices) {
    static const double x[4] = {1, 2, 3, 4};
    DeviceCall call = {.operator_name = "MaxUnpool",
        .attributes = "{kernel_shape=[2, 2], strides=[2, 2]}",
        .input_count = 2};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 4, 1, 1, 2, 2);
    call.inputs[1] = device_tensor(DTYPE_INT64, indices, 4, 1, 1, 2, 2);
    return call;
}

static void test_elements_go_back_to_where_they_were(void **state) {
    (void)state;
    DeviceCall call = call_of((double[]){5, 7, 13, 15});
    everywhere_check(&call, (double[]){0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4}, 0);
    everywhere_release(&call);
}

/* As MaxPool counts them: 4 x 5 pooled by 2 leaves a column, 3 x 3 pooled upwards lacks one. */
static void test_indices_count_in_output_shape(void **state) {
    static const double wider[4] = {1, 1, 4, 5}, smaller[4] = {1, 1, 3, 3};
    (void)state;
    DeviceCall call = call_of((double[]){0, 2, 10, 12});
    call.input_count = 3;
    call.inputs[2] = device_tensor(DTYPE_INT64, wider, 1, 4);
    everywhere_check(
        &call, (double[]){1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0, 0, 0, 0, 0}, 0);
    everywhere_release(&call);
    call = call_of((double[]){4, 5, 7, 8});
    call.input_count = 3;
    call.inputs[2] = device_tensor(DTYPE_INT64, smaller, 1, 4);
    everywhere_check(&call, (double[]){0, 0, 0, 0, 1, 2, 0, 3, 4}, 0);
    everywhere_release(&call);
}

static void test_of_several_at_one_place_the_last_stays(void **state) {
    (void)state;
    DeviceCall call = call_of((double[]){0, 0, 3, 3});
    everywhere_check(&call, (double[]){2, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0);
    everywhere_release(&call);
}

static void test_an_index_outside_is_an_error(void **state) {
    Tensor *out = NULL;
    (void)state;
    DeviceCall call = call_of((double[]){5, 7, 16, 15});
    call.device = everywhere_cpu();
    assert_fails_saying(FAILED, "MaxUnpool: index 16 at position 2 is outside [0, 15]",
        device_call_run(&call, &out, NULL));
    everywhere_release(&call);
}

int test_cpu_unpool(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_go_back_to_where_they_were),
        cmocka_unit_test(test_indices_count_in_output_shape),
        cmocka_unit_test(test_of_several_at_one_place_the_last_stays),
        cmocka_unit_test(test_an_index_outside_is_an_error),
    };
    return cmocka_run_group_tests_name("cpu_unpool", tests, NULL, NULL);
}
