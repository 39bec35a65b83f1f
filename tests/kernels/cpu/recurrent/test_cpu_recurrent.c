#include "kernels/cpu/recurrent/cpu_recurrent.h"

#include <math.h>
#include <string.h>

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

/* A NaN with a sign and digits of its own, and what makes a NaN of an infinity. */
static const uint32_t unusual[] = {
    0x7f800000, 0xff800000, 0xffc12345, 0x7fc00001, 0xbf000000, 0x3f800000, 0x00400000, 0x7f7fffff};
enum { UNUSUAL_COUNT = sizeof unusual / sizeof unusual[0] };

static uint64_t bits_of(const KernelResult *result) {
    uint64_t bits = 0;
    memcpy(&bits, result->data[0], result->bytes[0]);
    return bits;
}

/* The bits of the one element that a call computes. */
static uint64_t call_bits(const KernelCall *call) {
    KernelResult result;
    assert_ok(kernel_call_run(kernel_cpu_device(), call, KERNEL_MODE_PLAIN, &result));
    const uint64_t bits = bits_of(&result);
    kernel_result_deinit(&result);
    return bits;
}

static void test_softsign_has_the_bits_of_its_operator(void **state) {
    (void)state;
    static const double one_f64 = 1, none_f64 = 0;
    for (size_t i = 0; i < UNUSUAL_COUNT; i++) {
        float x;
        memcpy(&x, &unusual[i], sizeof x);
        const double wide = (double)x;
        KernelCall cell = activation_call("{activations=[\"Softsign\"]}", &x);
        KernelCall plain = {.name = "Softsign", .input_count = 1, .output_count = 1};
        plain.inputs[0] = (KernelInput){DTYPE_FLOAT32, {3, {1, 1, 1}}, &x};
        assert_true(call_bits(&cell) == call_bits(&plain));
        for (int k = 0; k < 3; k++) cell.inputs[k].dtype = DTYPE_FLOAT64;
        cell.inputs[0].data = &wide;
        cell.inputs[1].data = &one_f64;
        cell.inputs[2].data = &none_f64;
        plain.inputs[0] = cell.inputs[0];
        assert_true(call_bits(&cell) == call_bits(&plain));
    }
}

/* Not with the sign that the processor gives it. */
static void test_activations_compute_the_canonical_nan(void **state) {
    (void)state;
    static const char *const rows[] = {"{activations=[\"Softsign\"]}",
        "{activations=[\"Affine\"], activation_alpha=[0.0]}",
        "{activations=[\"ScaledTanh\"], activation_beta=[0.0]}"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t k = 0; k < 4; k++) {
            float x;
            memcpy(&x, &unusual[k], sizeof x);
            const KernelCall call = activation_call(rows[i], &x);
            assert_int_equal(call_bits(&call), 0x7fc00000);
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
        cmocka_unit_test(test_softsign_has_the_bits_of_its_operator),
        cmocka_unit_test(test_activations_compute_the_canonical_nan),
        cmocka_unit_test(test_activations_and_lengths_are_refused_by_name),
    };
    return cmocka_run_group_tests_name("cpu_recurrent", tests, NULL, NULL);
}
