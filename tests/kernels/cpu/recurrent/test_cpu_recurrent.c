#include "kernels/cpu/recurrent/cpu_recurrent.h"

#include <math.h>

#include "tests/kernels/fixtures/kernel_call.h"

static const float one[1] = {1}, none[1] = {0};

/* RNN of one unit and one step: the activation of x. */
static KernelCall activation_call(const char *attributes, const float *x) {
    return (KernelCall){.name = "RNN",
        .attributes = attributes,
        .input_count = 3,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, {3, {1, 1, 1}}, x}, {DTYPE_FLOAT32, {3, {1, 1, 1}}, one},
            {DTYPE_FLOAT32, {3, {1, 1, 1}}, none}}};
}

static void test_every_activation_is_known(void **state) {
    (void)state;
    static const float x[1] = {-0.5f};
    const struct {
        const char *attributes;
        double expected;
    } rows[] = {
        {"{activations=[\"Sigmoid\"]}", 1 / (1 + exp(0.5))},
        {"{activations=[\"TANH\"]}", tanh(-0.5)},
        {"{activations=[\"Relu\"]}", 0},
        {"{activations=[\"LeakyRelu\"]}", -0.005},
        {"{activations=[\"LeakyRelu\"], activation_alpha=[0.5]}", -0.25},
        {"{activations=[\"Elu\"]}", exp(-0.5) - 1},
        {"{activations=[\"HardSigmoid\"]}", 0.4},
        {"{activations=[\"Softplus\"]}", log1p(exp(-0.5))},
        {"{activations=[\"Affine\"], activation_alpha=[3.0], activation_beta=[1.0]}", -0.5},
        {"{activations=[\"ScaledTanh\"], activation_alpha=[3.0], activation_beta=[2.0]}",
            3 * tanh(-1)},
        {"{activations=[\"Softsign\"]}", -0.5 / 1.5},
        {"{activations=[\"ThresholdedRelu\"], activation_alpha=[-0.5]}", -0.5},
        {"{activations=[\"ThresholdedRelu\"]}", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        KernelResult result;
        const KernelCall call = activation_call(rows[i].attributes, x);
        assert_ok(kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &result));
        kernel_check_close(&result, 0, &rows[i].expected, 1e-6);
        kernel_result_deinit(&result);
    }
}

static void test_activations_and_lengths_are_refused_by_name(void **state) {
    (void)state;
    KernelResult result;
    KernelCall call = activation_call("{activations=[\"Sine\"]}", one);
    assert_fails_saying(UNSUPPORTED, "activation \"Sine\"",
        kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &result));
    call = activation_call("{activations=[]}", one);
    assert_fails_saying(INVALID, "activations has too few names",
        kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &result));
    static const int32_t lengths[1] = {-1};
    call = activation_call("{}", one);
    call.inputs[4] = (KernelInput){DTYPE_INT32, {1, {1}}, lengths};
    call.input_count = 5;
    assert_fails_saying(INVALID, "RNN: sequence_lens[0] is -1 of 1",
        kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &result));
}

int test_cpu_recurrent(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_activation_is_known),
        cmocka_unit_test(test_activations_and_lengths_are_refused_by_name),
    };
    return cmocka_run_group_tests_name("cpu_recurrent", tests, NULL, NULL);
}
