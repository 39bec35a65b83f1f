#include <math.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

/* One unit, two steps, by hand. */
static const float x[2] = {0.5f, -1.0f}, w[3] = {0.3f, -0.7f, 0.9f}, r[3] = {0.2f, 0.4f, -0.6f};
static const float b[6] = {0.1f, -0.2f, 0.3f, 0.05f, 0.15f, -0.25f}, h0[1] = {0.8f};

static double sigmoid(double v) { return 1 / (1 + exp(-v)); }

static void by_hand(bool linear, double *out_y) {
    double h = (double)h0[0];
    for (int t = 0; t < 2; t++) {
        double in[3], state[3];
        for (int g = 0; g < 3; g++) {
            in[g] = (double)w[g] * (double)x[t] + (double)b[g];
            state[g] = (double)r[g] * h + (double)b[3 + g];
        }
        double z = sigmoid(in[0] + state[0]), reset = sigmoid(in[1] + state[1]);
        double moved = linear ? reset * state[2] : (double)r[2] * (reset * h) + (double)b[5];
        h = (1 - z) * tanh(in[2] + moved) + z * h;
        out_y[t] = h;
    }
}

static void check(const char *attributes, bool linear, Device *device) {
    double y[2];
    KernelCall call = {.name = "GRU",
        .attributes = attributes,
        .input_count = 6,
        .output_count = 2,
        .inputs = {{DTYPE_FLOAT32, {3, {2, 1, 1}}, x}, {DTYPE_FLOAT32, {3, {1, 3, 1}}, w},
            {DTYPE_FLOAT32, {3, {1, 3, 1}}, r}, {DTYPE_FLOAT32, {2, {1, 6}}, b}, {0},
            {DTYPE_FLOAT32, {3, {1, 1, 1}}, h0}}};
    KernelResult result;
    by_hand(linear, y);
    kernel_call_check_bits(device, &call, &result);
    kernel_check_close(&result, 0, y, 1e-6);
    kernel_check_close(&result, 1, &y[1], 1e-6);
    kernel_result_deinit(&result);
}

static void test_gru_resets_its_state_before_or_behind_the_product(void **state) {
    (void)state;
    Device *devices[] = {kernel_cpu_device(), kernel_portable_device()};
    for (size_t i = 0; i < 2; i++) {
        check(NULL, false, devices[i]);
        check("{linear_before_reset=1}", true, devices[i]);
    }
}

/* R is read in one piece only where the state is reset behind the product. */
static void test_gru_takes_packed_weights(void **state) {
    (void)state;
    const int64_t hidden = 40, input = 9, length = 3, batch = 2;
    float *many_x = kernel_random_floats(1, length * batch * input);
    float *many_w = kernel_random_floats(2, 3 * hidden * input);
    float *many_r = kernel_random_floats(3, 3 * hidden * hidden);
    KernelCall call = {.name = "GRU",
        .input_count = 3,
        .output_count = 2,
        .inputs = {{DTYPE_FLOAT32, {3, {length, batch, input}}, many_x},
            {DTYPE_FLOAT32, {3, {1, 3 * hidden, input}}, many_w},
            {DTYPE_FLOAT32, {3, {1, 3 * hidden, hidden}}, many_r}}};
    static const char *const attributes[] = {"{}", "{linear_before_reset=1}"};
    for (size_t i = 0; i < 2; i++) {
        KernelResult result;
        call.attributes = attributes[i];
        kernel_call_check_bits(kernel_cpu_device(), &call, &result);
        assert_true(kernel_call_check_packed(kernel_cpu_device(), &call, 2, &result));
        assert_int_equal(kernel_call_check_packed(kernel_cpu_device(), &call, 4, &result), i == 1);
        kernel_result_deinit(&result);
    }
    free(many_x), free(many_w), free(many_r);
}

int test_cpu_gru(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gru_resets_its_state_before_or_behind_the_product),
        cmocka_unit_test(test_gru_takes_packed_weights),
    };
    return cmocka_run_group_tests_name("cpu_gru", tests, NULL, NULL);
}
