#include "tests/kernels/fixtures/everywhere.h"

static const double data[6] = {0, 1, 2, 3, 4, 5};

static void check(const char *name, const char *attributes, DType dtype, Tensor *indices,
    Tensor *updates, const double *expected) {
    DeviceCall call = {.operator_name = name, .attributes = attributes, .input_count = 3};
    call.inputs[0] = device_tensor(dtype, data, 2, 3, 2);
    call.inputs[1] = indices;
    call.inputs[2] = updates;
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_scatter_elements_with_every_reduction(void **state) {
    static const struct {
        const char *attributes;
        double expected[6];
    } cases[] = {
        {"{axis=0}", {0, 9, 2, 3, 8, 5}},
        {"{axis=0, reduction=\"add\"}", {0, 10, 2, 3, 4 + 7 + 8, 5}},
        {"{axis=0, reduction=\"mul\"}", {0, 9, 2, 3, 4 * 7 * 8, 5}},
        {"{axis=0, reduction=\"max\"}", {0, 9, 2, 3, 8, 5}},
        {"{axis=0, reduction=\"min\"}", {0, 1, 2, 3, 4, 5}},
    };
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_INT64, DTYPE_FLOAT16, DTYPE_UINT8};
    (void)state;
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 4; k++) {
            /* column 0 of each row of the indices goes to element (2, 0), twice */
            DeviceCall call = {.operator_name = "ScatterElements",
                .attributes = cases[i].attributes,
                .input_count = 3};
            call.inputs[0] = device_tensor(dtypes[k], data, 2, 3, 2);
            call.inputs[1] = device_tensor(DTYPE_INT64, (double[]){2, 0, -1, 0}, 2, 2, 2);
            call.inputs[2] = device_tensor(dtypes[k], (double[]){7, 9, 8, 9}, 2, 2, 2);
            double expected[6];
            memcpy(expected, cases[i].expected, sizeof expected);
            if (i == 1) expected[1] = 1 + 9 + 9;
            if (i == 2) expected[1] = 81;
            if (dtypes[k] == DTYPE_UINT8 && i == 2) expected[4] = 224;
            everywhere_check(&call, expected, 0);
            everywhere_release(&call);
        }
}

static void test_scatter_nd_puts_slices_and_elements(void **state) {
    (void)state;
    check("ScatterND", NULL, DTYPE_FLOAT32, device_tensor(DTYPE_INT64, (double[]){-1, 0}, 2, 2, 1),
        device_tensor(DTYPE_FLOAT32, (double[]){10, 11, 12, 13}, 2, 2, 2),
        (double[]){12, 13, 2, 3, 10, 11});
    check("ScatterND", "{reduction=\"add\"}", DTYPE_INT32,
        device_tensor(DTYPE_INT64, (double[]){1, 1, 1, 1}, 2, 2, 2),
        device_tensor(DTYPE_INT32, (double[]){10, 20}, 1, 2), (double[]){0, 1, 2, 33, 4, 5});
    check("ScatterND", NULL, DTYPE_INT8, device_tensor(DTYPE_INT64, data, 2, 0, 1),
        device_tensor(DTYPE_INT8, data, 2, 0, 2), data);
}

static void test_an_index_outside_is_an_error(void **state) {
    static const char *const names[] = {"ScatterElements", "ScatterND"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        double bad = 3;
        Tensor *out = NULL;
        DeviceCall call = {.device = everywhere_cpu(), .operator_name = names[i], .input_count = 3};
        call.inputs[0] = device_tensor(DTYPE_FLOAT32, data, 2, 3, 2);
        call.inputs[1] = device_tensor(DTYPE_INT64, &bad, 2, 1, 1);
        call.inputs[2] = i == 0 ? device_tensor(DTYPE_FLOAT32, &bad, 2, 1, 1)
                                : device_tensor(DTYPE_FLOAT32, data, 2, 1, 2);
        assert_fails_saying(
            FAILED, "index 3 at position 0 is outside [-3, 2]", device_call_run(&call, &out, NULL));
        everywhere_release(&call);
    }
}

int test_cpu_scatter(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scatter_elements_with_every_reduction),
        cmocka_unit_test(test_scatter_nd_puts_slices_and_elements),
        cmocka_unit_test(test_an_index_outside_is_an_error),
    };
    return cmocka_run_group_tests_name("cpu_scatter", tests, NULL, NULL);
}
