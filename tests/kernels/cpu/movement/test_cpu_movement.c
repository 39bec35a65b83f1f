#include "tests/kernels/fixtures/everywhere.h"

/* 0, 1, 2 … */
static Tensor *counting(DType dtype, const Shape *shape) {
    Tensor *tensor = device_tensor_random(dtype, shape, 0, 1, 1);
    uint32_t size = dtype_bits(dtype) / 8;
    for (int64_t i = 0; i < shape_count_unchecked(shape); i++) {
        uint64_t value = (uint64_t)i;
        memcpy((char *)tensor_data(tensor) + i * size, &value, size);
    }
    return tensor;
}

static void check(const char *name, const char *attributes, const Shape *shape,
    const int64_t *second, int second_count, const double *expected) {
    static const DType dtypes[] = {DTYPE_UINT8, DTYPE_INT16, DTYPE_INT32, DTYPE_INT64};
    for (size_t i = 0; i < 4; i++) {
        double values[SHAPE_RANK_MAX];
        DeviceCall call = {.operator_name = name, .attributes = attributes, .input_count = 1};
        call.inputs[0] = counting(dtypes[i], shape);
        for (int k = 0; second && k < second_count; k++) values[k] = (double)second[k];
        if (second)
            call.inputs[call.input_count++] = device_tensor(DTYPE_INT64, values, 1, second_count);
        everywhere_check(&call, expected, 0);
        everywhere_release(&call);
    }
}

static void test_transpose_expand_and_tile(void **state) {
    const Shape matrix = {2, {2, 3}}, cube = {3, {2, 1, 2}}, scalar = {0};
    (void)state;
    check("Transpose", NULL, &matrix, NULL, 0, (double[]){0, 3, 1, 4, 2, 5});
    check("Transpose", "{perm=[2, 0, 1]}", &cube, NULL, 0, (double[]){0, 2, 1, 3});
    check("Transpose", NULL, &scalar, NULL, 0, (double[]){0});
    check("Expand", NULL, &cube, (int64_t[]){2, 2, 1}, 3, (double[]){0, 1, 0, 1, 2, 3, 2, 3});
    check("Tile", NULL, &matrix, (int64_t[]){2, 2}, 2,
        (double[]){0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
    check("Tile", NULL, &matrix, (int64_t[]){0, 2}, 2, (double[]){0});
}

static void test_large_transpositions_agree_with_their_definition(void **state) {
    static const Shape shapes[] = {{2, {257, 129}}, {2, {3, 5000}}, {2, {5000, 2}}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        DeviceCall call = {.operator_name = "Transpose", .input_count = 1};
        call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &shapes[i], -1, 1, 9);
        Tensor *out = NULL;
        everywhere_run(&call, &out);
        const float *x = tensor_data(call.inputs[0]), *y = tensor_data(out);
        int64_t rows = shapes[i].dims[0], columns = shapes[i].dims[1];
        for (int64_t n = 0; n < rows * columns; n++)
            assert_true(y[n] == x[n % rows * columns + n / rows]);
        tensor_release(out);
        everywhere_release(&call);
    }
}

static void slice(const Shape *shape, const double *starts, const double *ends, const double *axes,
    const double *steps, int count, const double *expected) {
    DeviceCall call = {.operator_name = "Slice", .input_count = 5};
    call.inputs[0] = counting(DTYPE_INT32, shape);
    call.inputs[1] = device_tensor(DTYPE_INT64, starts, 1, count);
    call.inputs[2] = device_tensor(DTYPE_INT64, ends, 1, count);
    call.inputs[3] = device_tensor(DTYPE_INT64, axes, 1, count);
    call.inputs[4] = device_tensor(DTYPE_INT64, steps, 1, count);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_slices_forwards_backwards_and_empty(void **state) {
    const Shape matrix = {2, {4, 3}};
    (void)state;
    slice(&matrix, (double[]){1, 0}, (double[]){3, 2}, (double[]){0, 1}, (double[]){1, 1}, 2,
        (double[]){3, 4, 6, 7});
    slice(&matrix, (double[]){-1}, (double[]){-9e18}, (double[]){0}, (double[]){-2}, 1,
        (double[]){9, 10, 11, 3, 4, 5});
    slice(&matrix, (double[]){2}, (double[]){2}, (double[]){1}, (double[]){1}, 1, (double[]){0});
    slice(&matrix, (double[]){1}, (double[]){9e18}, (double[]){-1}, (double[]){9e18}, 1,
        (double[]){1, 4, 7, 10});
}

static void test_concat_and_split_are_each_others_inverse(void **state) {
    static const Shape parts[] = {{3, {2, 3, 4}}, {3, {2, 0, 4}}, {3, {2, 1, 4}}, {3, {2, 5, 4}}};
    (void)state;
    DeviceCall call = {.operator_name = "Concat", .attributes = "{axis=1}", .input_count = 4};
    for (uint32_t i = 0; i < 4; i++)
        call.inputs[i] = device_tensor_random(DTYPE_FLOAT16, &parts[i], -9, 9, i);
    Tensor *whole = NULL, *pieces[DEVICE_CALL_OUTPUTS_MAX] = {0};
    everywhere_run(&call, &whole);
    DeviceCall split = {.operator_name = "Split",
        .attributes = "{axis=-2}",
        .input_count = 2,
        .output_count = 4,
        .inputs = {whole, device_tensor(DTYPE_INT64, (double[]){3, 0, 1, 5}, 1, 4)}};
    everywhere_run(&split, pieces);
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(device_tensor_hash(pieces[i]) == device_tensor_hash(call.inputs[i]));
        tensor_release(pieces[i]);
    }
    everywhere_release(&split);
    everywhere_release(&call);
}

static void trilu(const char *attributes, double k, const double *expected) {
    const Shape matrix = {3, {1, 3, 4}};
    DeviceCall call = {.operator_name = "Trilu", .attributes = attributes, .input_count = 2};
    call.inputs[0] = counting(DTYPE_INT32, &matrix);
    call.inputs[1] = device_tensor(DTYPE_INT64, &k, 0);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_triangles_with_any_diagonal(void **state) {
    (void)state;
    trilu(NULL, 0, (double[]){0, 1, 2, 3, 0, 5, 6, 7, 0, 0, 10, 11});
    trilu("{upper=0}", 0, (double[]){0, 0, 0, 0, 4, 5, 0, 0, 8, 9, 10, 0});
    trilu("{upper=0}", -1, (double[]){0, 0, 0, 0, 4, 0, 0, 0, 8, 9, 0, 0});
    trilu(NULL, 9.2e18, (double[12]){0});
    trilu("{upper=0}", -9.2e18, (double[12]){0});
    trilu("{upper=0}", 9.2e18, (double[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

static void test_dropout_with_a_mask_copies_and_says_all_true(void **state) {
    const double x[3] = {1, 2, 3};
    Tensor *outputs[2] = {0};
    (void)state;
    DeviceCall call = {.operator_name = "Dropout", .input_count = 1, .output_count = 2};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 1, 3);
    everywhere_run(&call, outputs);
    everywhere_compare(outputs[0], x, 0);
    everywhere_compare(outputs[1], (double[]){1, 1, 1}, 0);
    tensor_release(outputs[0]);
    tensor_release(outputs[1]);
    everywhere_release(&call);
}

int test_cpu_movement(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transpose_expand_and_tile),
        cmocka_unit_test(test_large_transpositions_agree_with_their_definition),
        cmocka_unit_test(test_slices_forwards_backwards_and_empty),
        cmocka_unit_test(test_concat_and_split_are_each_others_inverse),
        cmocka_unit_test(test_triangles_with_any_diagonal),
        cmocka_unit_test(test_dropout_with_a_mask_copies_and_says_all_true),
    };
    return cmocka_run_group_tests_name("cpu_movement", tests, NULL, NULL);
}
