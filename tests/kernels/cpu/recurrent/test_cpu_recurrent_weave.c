#include "kernels/cpu/recurrent/cpu_recurrent_weave.h"

#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

enum { LENGTH = 75, BLOCK = 32 };

typedef struct WeaveCase {
    const char *name, *attributes;
    int64_t gates, directions, input, hidden;
    bool bias;
    int32_t steps; /* of the sequence; 0: all */
} WeaveCase;

/* One sequence and, with another one, two: only the first is woven. */
static void check_case(const WeaveCase *weave) {
    const int64_t rows = weave->directions * weave->gates * weave->hidden;
    float *x = kernel_random_floats(1, LENGTH * 2 * weave->input);
    float *one = calloc((size_t)(LENGTH * weave->input), sizeof(float));
    float *w = kernel_random_floats(2, rows * weave->input);
    float *r = kernel_random_floats(3, rows * weave->hidden);
    float *b = kernel_random_floats(4, 2 * rows);
    assert_non_null(one);
    for (int64_t i = 0; i < rows * weave->hidden; i++) r[i] *= 0.05f; /* states stay small */
    for (int64_t t = 0; t < LENGTH; t++)
        memcpy(
            one + t * weave->input, x + t * 2 * weave->input, (size_t)weave->input * sizeof(float));
    int32_t lengths[2] = {weave->steps ? weave->steps : LENGTH, LENGTH};
    const int64_t directions = weave->directions, input = weave->input, hidden = weave->hidden;
    KernelCall call = {.name = weave->name,
        .attributes = weave->attributes,
        .input_count = 5,
        .output_count = 2,
        .inputs = {{DTYPE_FLOAT32, {3, {LENGTH, 2, input}}, x},
            {DTYPE_FLOAT32, {3, {directions, rows / directions, input}}, w},
            {DTYPE_FLOAT32, {3, {directions, rows / directions, hidden}}, r},
            {DTYPE_FLOAT32, {2, {directions, 2 * rows / directions}}, b},
            {DTYPE_INT32, {1, {2}}, lengths}}};
    if (!weave->bias) call.inputs[3] = (KernelInput){0};
    KernelResult two, alone;
    assert_ok(kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &two));
    call.inputs[0] = (KernelInput){DTYPE_FLOAT32, {3, {LENGTH, 1, input}}, one};
    call.inputs[4].shape.dims[0] = 1;
    kernel_call_check_bits(kernel_cpu_device(), &call, &alone);
    (void)kernel_call_check_packed(kernel_cpu_device(), &call, 6, &alone);
    for (int64_t i = 0; i < LENGTH * directions; i++)
        assert_memory_equal((float *)alone.data[0] + i * hidden,
            (float *)two.data[0] + i * 2 * hidden, (size_t)hidden * sizeof(float));
    kernel_result_deinit(&alone);
    kernel_result_deinit(&two);
    free(x), free(one), free(w), free(r), free(b);
}

static void test_woven_rows_have_the_bits_of_a_product_by_itself(void **state) {
    (void)state;
    static const WeaveCase cases[] = {
        {"LSTM", NULL, 4, 1, 320, 320, true, 0},
        {"LSTM", NULL, 4, 1, 128, 320, false, 0}, /* two steps of the state's for one of X's */
        {"LSTM", "{direction=\"bidirectional\"}", 4, 2, 32, 320, true, 0},
        {"LSTM", "{direction=\"reverse\"}", 4, 1, 160, 320, true, 70},
        {"GRU", "{linear_before_reset=1}", 3, 1, 320, 320, true, 0},
        {"RNN", "{direction=\"reverse\"}", 1, 1, 64, 576, true, 2 * BLOCK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(&cases[i]);
}

static CpuRecurrent recurrent_of(int64_t input, int64_t hidden) {
    CpuRecurrent lstm = {.length = LENGTH,
        .batch = 1,
        .input = input,
        .hidden = hidden,
        .directions = 1,
        .gates = 4,
        .first_gates = 4,
        .joined_gates = 4};
    cpu_recurrent_prepare(&lstm, ((CpuDevice *)kernel_cpu_device())->level);
    return lstm;
}

static void test_weaving_is_for_one_sequence_whose_weights_are_near(void **state) {
    (void)state;
    CpuRecurrent lstm = recurrent_of(320, 320);
    if (!lstm.first.code.woven) skip();
    const CpuRecurrentWeave weave = cpu_recurrent_weave_of(&lstm, LENGTH);
    assert_true(weave.parts == 10 && weave.block == 30 && weave.blocks == 2);
    assert_true(cpu_recurrent_weaves(&weave, 29));
    assert_false(cpu_recurrent_weaves(&weave, 30)); /* the last block's rows are there */
    assert_int_equal(cpu_recurrent_weave_of(&lstm, 59).block, 0);
    lstm.batch = 2;
    assert_int_equal(cpu_recurrent_weave_of(&lstm, LENGTH).block, 0);
    lstm = recurrent_of(320, 256); /* more to multiply than to wait for */
    assert_int_equal(cpu_recurrent_weave_of(&lstm, LENGTH).block, 0);
    lstm = recurrent_of(256, 256); /* a second level cache has them */
    assert_int_equal(cpu_recurrent_weave_of(&lstm, LENGTH).block, 0);
    lstm = recurrent_of(256, 1024); /* they come from memory */
    assert_int_equal(cpu_recurrent_weave_of(&lstm, LENGTH).block, 0);
    lstm = recurrent_of(100, 320);
    assert_int_equal(cpu_recurrent_weave_of(&lstm, LENGTH).block, 0);
}

int test_cpu_recurrent_weave(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_woven_rows_have_the_bits_of_a_product_by_itself),
        cmocka_unit_test(test_weaving_is_for_one_sequence_whose_weights_are_near),
    };
    return cmocka_run_group_tests_name("cpu_recurrent_weave", tests, NULL, NULL);
}
