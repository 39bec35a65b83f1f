#include "tests/kernels/fixtures/everywhere.h"

static const double data[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static DeviceCall reverse(
    const char *attributes, DType dtype, const double *lengths, int64_t count) {
    DeviceCall call = {
        .operator_name = "ReverseSequence", .attributes = attributes, .input_count = 2};
    call.inputs[0] = device_tensor(dtype, data, 2, 4, 3);
    call.inputs[1] = device_tensor(DTYPE_INT64, lengths, 1, count);
    return call;
}

static void test_sequences_are_reversed_up_to_their_lengths(void **state) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_INT64, DTYPE_FLOAT16, DTYPE_UINT8};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        DeviceCall columns = reverse(NULL, dtypes[i], (double[]){4, 0, 2}, 3);
        everywhere_check(&columns, (double[]){9, 1, 5, 6, 4, 2, 3, 7, 8, 0, 10, 11}, 0);
        everywhere_release(&columns);
        DeviceCall rows =
            reverse("{time_axis=1, batch_axis=0}", dtypes[i], (double[]){1, 2, 3, 3}, 4);
        everywhere_check(&rows, (double[]){0, 1, 2, 4, 3, 5, 8, 7, 6, 11, 10, 9}, 0);
        everywhere_release(&rows);
    }
}

static void test_a_length_beyond_the_sequence_is_an_error(void **state) {
    (void)state;
    Tensor *out = NULL;
    DeviceCall call = reverse(NULL, DTYPE_INT32, (double[]){4, 5, 2}, 3);
    call.device = everywhere_cpu();
    assert_fails_saying(FAILED, "ReverseSequence: length 5 at position 1 is outside [0, 4]",
        device_call_run(&call, &out, NULL));
    everywhere_release(&call);
}

static DeviceCall scatter(const char *attributes, DType dtype, const double *indices) {
    DeviceCall call = {
        .operator_name = "TensorScatter", .attributes = attributes, .input_count = indices ? 3 : 2};
    call.inputs[0] = device_tensor(dtype, data, 3, 2, 3, 2);
    call.inputs[1] = device_tensor(dtype, (double[]){50, 51, 52, 53, 60, 61, 62, 63}, 3, 2, 2, 2);
    if (indices) call.inputs[2] = device_tensor(DTYPE_INT64, indices, 1, 2);
    return call;
}

static void test_updates_are_written_at_each_batch_s_index(void **state) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_INT64, DTYPE_BFLOAT16, DTYPE_INT8};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        DeviceCall call = scatter(NULL, dtypes[i], (double[]){1, 0});
        everywhere_check(&call, (double[]){0, 1, 50, 51, 52, 53, 60, 61, 62, 63, 10, 11}, 0);
        everywhere_release(&call);
        call = scatter("{mode=\"circular\"}", dtypes[i], (double[]){2, 4});
        everywhere_check(&call, (double[]){52, 53, 2, 3, 50, 51, 6, 7, 60, 61, 62, 63}, 0);
        everywhere_release(&call);
        call = scatter(NULL, dtypes[i], NULL);
        everywhere_check(&call, (double[]){50, 51, 52, 53, 4, 5, 60, 61, 62, 63, 10, 11}, 0);
        everywhere_release(&call);
    }
}

static void test_an_index_that_leaves_no_room_is_an_error(void **state) {
    static const struct {
        const char *attributes;
        double second;
        const char *message;
    } cases[] = {
        {NULL, 2, "TensorScatter: index 2 at position 1 is outside [0, 1]"},
        {NULL, -1, "TensorScatter: index -1 at position 1 is outside [0, 1]"},
        {"{mode=\"circular\"}", -1, "TensorScatter: index -1 at position 1 is outside [0, "},
    };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        Tensor *out = NULL;
        DeviceCall call = scatter(cases[i].attributes, DTYPE_INT32, (double[]){0, cases[i].second});
        call.device = everywhere_cpu();
        assert_fails_saying(FAILED, cases[i].message, device_call_run(&call, &out, NULL));
        everywhere_release(&call);
    }
}

int test_cpu_sequence(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequences_are_reversed_up_to_their_lengths),
        cmocka_unit_test(test_a_length_beyond_the_sequence_is_an_error),
        cmocka_unit_test(test_updates_are_written_at_each_batch_s_index),
        cmocka_unit_test(test_an_index_that_leaves_no_room_is_an_error),
    };
    return cmocka_run_group_tests_name("cpu_sequence", tests, NULL, NULL);
}
