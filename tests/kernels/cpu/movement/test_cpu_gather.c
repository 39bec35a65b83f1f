#include "tests/kernels/fixtures/everywhere.h"

static const double data[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static void check(const char *name, const char *attributes, Tensor *indices, DType dtype,
    const double *expected) {
    DeviceCall call = {.operator_name = name, .attributes = attributes, .input_count = 2};
    call.inputs[0] = device_tensor(dtype, data, 2, 4, 3);
    call.inputs[1] = indices;
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_gather_takes_rows_columns_and_single_elements(void **state) {
    (void)state;
    check("Gather", NULL, device_tensor(DTYPE_INT64, (double[]){3, -4}, 1, 2), DTYPE_FLOAT32,
        (double[]){9, 10, 11, 0, 1, 2});
    check("Gather", "{axis=1}", device_tensor(DTYPE_INT32, (double[]){-1}, 0), DTYPE_INT8,
        (double[]){2, 5, 8, 11});
    check("Gather", "{axis=1}", device_tensor(DTYPE_INT64, (double[]){2, 0}, 2, 1, 2),
        DTYPE_FLOAT64, (double[]){2, 0, 5, 3, 8, 6, 11, 9});
    check("Gather", NULL, device_tensor(DTYPE_INT64, data, 1, 0), DTYPE_FLOAT16, data);
}

static void test_gather_elements_along_either_axis(void **state) {
    (void)state;
    check("GatherElements", "{axis=0}",
        device_tensor(DTYPE_INT64, (double[]){3, -1, 0, 0, 1, 2}, 2, 2, 3), DTYPE_INT32,
        (double[]){9, 10, 2, 0, 4, 8});
    check("GatherElements", "{axis=1}",
        device_tensor(DTYPE_INT32, (double[]){2, 0, -2, 1}, 2, 2, 2), DTYPE_INT16,
        (double[]){2, 0, 4, 4});
}

static void test_gather_nd_takes_slices_and_batches(void **state) {
    (void)state;
    check("GatherND", NULL, device_tensor(DTYPE_INT64, (double[]){1, -3}, 2, 2, 1), DTYPE_FLOAT32,
        (double[]){3, 4, 5, 3, 4, 5});
    check("GatherND", NULL, device_tensor(DTYPE_INT64, (double[]){3, 2, 0, -1}, 2, 2, 2),
        DTYPE_UINT8, (double[]){11, 2});
    check("GatherND", "{batch_dims=1}",
        device_tensor(DTYPE_INT64, (double[]){0, 1, 2, -1}, 2, 4, 1), DTYPE_INT64,
        (double[]){0, 4, 8, 11});
}

static void test_an_index_outside_is_an_error_that_says_where(void **state) {
    static const struct {
        const char *name, *message;
        double bad;
    } cases[] = {
        {"Gather", "Gather: index 4 at position 1 is outside [-4, 3]", 4},
        {"Gather", "Gather: index -5 at position 1 is outside [-4, 3]", -5},
        {"Gather", "is outside [-4, 3]", 9.2e18},
        {"Gather", "is outside [-4, 3]", -9.223372036854775808e18},
        {"GatherElements", "GatherElements: index 7 at position 1 is outside [-4, 3]", 7},
        {"GatherND", "GatherND: index -9 at position 1 is outside [-4, 3]", -9},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint32_t threads = 1; threads < 4; threads += 2) {
            double indices[2] = {0, cases[i].bad};
            Tensor *out = NULL;
            DeviceCall call = {.device = everywhere_cpu(),
                .operator_name = cases[i].name,
                .input_count = 2,
                .threads = threads};
            call.inputs[0] = device_tensor(DTYPE_FLOAT32, data, 2, 4, 3);
            call.inputs[1] = device_tensor(DTYPE_INT64, indices, 2, 2, 1);
            assert_fails_saying(FAILED, cases[i].message, device_call_run(&call, &out, NULL));
            everywhere_release(&call);
        }
}

/* A large embedding table on several threads. */
static void test_many_rows_are_gathered_alike_by_any_number_of_threads(void **state) {
    const Shape table = {2, {1000, 96}}, indices = {2, {40, 50}};
    (void)state;
    DeviceCall call = {.operator_name = "Gather", .input_count = 2};
    call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &table, -1, 1, 3);
    call.inputs[1] = device_tensor_random(DTYPE_INT64, &indices, -1000, 999, 4);
    Tensor *out = NULL;
    everywhere_run(&call, &out);
    for (int64_t i = 0; i < 2000; i++) {
        int64_t index = ((const int64_t *)tensor_data(call.inputs[1]))[i];
        const float *row =
            (const float *)tensor_data(call.inputs[0]) + (index < 0 ? index + 1000 : index) * 96;
        assert_memory_equal((const float *)tensor_data(out) + i * 96, row, 96 * sizeof(float));
    }
    tensor_release(out);
    everywhere_release(&call);
}

int test_cpu_gather(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather_takes_rows_columns_and_single_elements),
        cmocka_unit_test(test_gather_elements_along_either_axis),
        cmocka_unit_test(test_gather_nd_takes_slices_and_batches),
        cmocka_unit_test(test_an_index_outside_is_an_error_that_says_where),
        cmocka_unit_test(test_many_rows_are_gathered_alike_by_any_number_of_threads),
    };
    return cmocka_run_group_tests_name("cpu_gather", tests, NULL, NULL);
}
