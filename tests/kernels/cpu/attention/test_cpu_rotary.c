#include "tests/kernels/fixtures/everywhere.h"

/* Two rows of one head of 4 columns; quarter turns: (a, b) becomes (-b, a). */
static DeviceCall make_call(const char *attributes, const double *positions) {
    static const double x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const double cosines[4] = {1, 1, 0, 0}, sines[4] = {0, 0, 1, 1};
    DeviceCall call = {.operator_name = "RotaryEmbedding", .attributes = attributes};
    call.input_count = 4;
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 4, 1, 1, 2, 4);
    call.inputs[1] = device_tensor(DTYPE_FLOAT32, cosines, 2, 2, 2);
    call.inputs[2] = device_tensor(DTYPE_FLOAT32, sines, 2, 2, 2);
    call.inputs[3] = device_tensor(DTYPE_INT64, positions, 2, 1, 2);
    return call;
}

static void test_pairs_lie_half_a_head_apart_or_side_by_side(void **state) {
    (void)state;
    DeviceCall call = make_call(NULL, (double[]){0, 1});
    everywhere_check(&call, (double[]){1, 2, 3, 4, -7, -8, 5, 6}, 0);
    everywhere_release(&call);
    call = make_call("{interleaved=1}", (double[]){1, 0});
    everywhere_check(&call, (double[]){-2, 1, -4, 3, 5, 6, 7, 8}, 0);
    everywhere_release(&call);
}

static void test_columns_behind_the_rotated_ones_stay(void **state) {
    (void)state;
    DeviceCall call = make_call("{rotary_embedding_dim=2}", (double[]){1, 1});
    for (uint32_t i = 1; i < 3; i++) tensor_release(call.inputs[i]);
    call.inputs[1] = device_tensor(DTYPE_FLOAT32, (double[]){1, 0}, 2, 2, 1);
    call.inputs[2] = device_tensor(DTYPE_FLOAT32, (double[]){0, 1}, 2, 2, 1);
    everywhere_check(&call, (double[]){-2, 1, 3, 4, -6, 5, 7, 8}, 0);
    everywhere_release(&call);
}

static void test_positions_outside_the_caches_are_refused(void **state) {
    (void)state;
    static const double bad[2][2] = {{0, 2}, {0, -1}};
    static const char *const messages[2] = {"RotaryEmbedding: position 2 at 1 is outside [0, 1]",
        "RotaryEmbedding: position -1 at 1 is outside [0, 1]"};
    for (size_t i = 0; i < 2; i++) {
        DeviceCall call = make_call(NULL, bad[i]);
        Tensor *out = NULL;
        call.device = everywhere_cpu();
        assert_fails_saying(FAILED, messages[i], device_call_run(&call, &out, NULL));
        everywhere_release(&call);
    }
}

int test_cpu_rotary(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_lie_half_a_head_apart_or_side_by_side),
        cmocka_unit_test(test_columns_behind_the_rotated_ones_stay),
        cmocka_unit_test(test_positions_outside_the_caches_are_refused),
    };
    return cmocka_run_group_tests_name("cpu_rotary", tests, NULL, NULL);
}
