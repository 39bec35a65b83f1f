#include "kernels/cpu/recurrent/cpu_recurrent.h"

#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

static void test_recurrent_stops_at_each_sequences_length(void **state) {
    (void)state;
    static const float x[6] = {1, 1, 1, 1, 1, 1}, w[1] = {1}, r[1] = {1};
    static const int32_t lengths[2] = {3, 1};
    KernelCall call = {.name = "RNN",
        .attributes = "{activations=[\"Affine\"]}",
        .input_count = 5,
        .output_count = 2,
        .inputs = {{DTYPE_FLOAT32, {3, {3, 2, 1}}, x}, {DTYPE_FLOAT32, {3, {1, 1, 1}}, w},
            {DTYPE_FLOAT32, {3, {1, 1, 1}}, r}, {0}, {DTYPE_INT32, {1, {2}}, lengths}}};
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, (double[]){1, 1, 2, 0, 3, 0}, 0);
    kernel_check_close(&result, 1, (double[]){3, 1}, 0);
    kernel_result_deinit(&result);
}

/* Forty sequences go through whole products. One goes through slices of them, or, with a state that
 * does not fill panels, through steps that are not shared: the same bits. */
static void check_alone_and_among_others(
    const char *name, const char *attributes, int64_t gates, int64_t hidden) {
    enum { LENGTH = 4, BATCH = 40, INPUT = 5 };
    float *x = kernel_random_floats(1, LENGTH * BATCH * INPUT), one[LENGTH * INPUT];
    float *w = kernel_random_floats(2, gates * hidden * INPUT);
    float *r = kernel_random_floats(3, gates * hidden * hidden);
    float *b = kernel_random_floats(4, 2 * gates * hidden);
    KernelCall call = {.name = name,
        .attributes = attributes,
        .input_count = 4,
        .output_count = 2,
        .inputs = {{DTYPE_FLOAT32, {3, {LENGTH, BATCH, INPUT}}, x},
            {DTYPE_FLOAT32, {3, {1, gates * hidden, INPUT}}, w},
            {DTYPE_FLOAT32, {3, {1, gates * hidden, hidden}}, r},
            {DTYPE_FLOAT32, {2, {1, 2 * gates * hidden}}, b}}};
    KernelResult all, alone;
    kernel_call_check_bits(kernel_cpu_device(), &call, &all);
    for (int64_t n = 0; n < BATCH; n += 8) {
        for (int64_t t = 0; t < LENGTH; t++)
            memcpy(one + t * INPUT, x + (t * BATCH + n) * INPUT, INPUT * sizeof(float));
        call.inputs[0] = (KernelInput){DTYPE_FLOAT32, {3, {LENGTH, 1, INPUT}}, one};
        kernel_call_check_bits(kernel_cpu_device(), &call, &alone);
        (void)kernel_call_check_packed(kernel_cpu_device(), &call, 6, &alone);
        for (int64_t t = 0; t < LENGTH; t++)
            assert_memory_equal((float *)alone.data[0] + t * hidden,
                (float *)all.data[0] + (t * BATCH + n) * hidden, (size_t)hidden * sizeof(float));
        kernel_result_deinit(&alone);
    }
    kernel_result_deinit(&all);
    free(x);
    free(w);
    free(r);
    free(b);
}

static void test_recurrent_gives_a_sequence_the_same_bits_in_any_batch(void **state) {
    (void)state;
    static const int64_t sizes[] = {128, 104};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check_alone_and_among_others("LSTM", NULL, 4, sizes[i]);
        check_alone_and_among_others("GRU", NULL, 3, sizes[i]);
        check_alone_and_among_others("GRU", "{linear_before_reset=1}", 3, sizes[i]);
        check_alone_and_among_others("RNN", NULL, 1, sizes[i]);
    }
}

/* Weights of bfloat16, plain and packed, alone and in batches: the bits of the network that has
 * them in float32. */
static void check_bfloat16(
    const char *name, const char *half_name, const char *attributes, int64_t gates, int64_t batch) {
    enum { LENGTH = 3, INPUT = 5, HIDDEN = 128 };
    const int64_t counts[2] = {gates * HIDDEN * INPUT, gates * HIDDEN * HIDDEN};
    float *x = kernel_random_floats(1, LENGTH * batch * INPUT);
    float *wide[2] = {kernel_random_floats(2, counts[0]), kernel_random_floats(3, counts[1])};
    uint16_t *half[2];
    for (int i = 0; i < 2; i++) {
        half[i] = malloc((size_t)counts[i] * sizeof(uint16_t));
        assert_non_null(half[i]);
        for (int64_t j = 0; j < counts[i]; j++) {
            uint32_t word;
            memcpy(&word, &wide[i][j], sizeof word);
            half[i][j] = (uint16_t)(word >> 16);
            word = word >> 16 << 16;
            memcpy(&wide[i][j], &word, sizeof word);
        }
    }
    KernelCall call = {.name = name,
        .attributes = attributes,
        .input_count = 3,
        .output_count = 2,
        .inputs = {{DTYPE_FLOAT32, {3, {LENGTH, batch, INPUT}}, x},
            {DTYPE_FLOAT32, {3, {1, gates * HIDDEN, INPUT}}, wide[0]},
            {DTYPE_FLOAT32, {3, {1, gates * HIDDEN, HIDDEN}}, wide[1]}}};
    KernelResult expected, result;
    assert_ok(kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &expected));
    call.name = half_name;
    for (int i = 0; i < 2; i++) {
        call.inputs[i + 1].dtype = DTYPE_BFLOAT16;
        call.inputs[i + 1].data = half[i];
    }
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    for (uint32_t i = 0; i < 2; i++)
        assert_memory_equal(result.data[i], expected.data[i], expected.bytes[i]);
    (void)kernel_call_check_packed(kernel_cpu_device(), &call, 6, &result);
    kernel_result_deinit(&result);
    kernel_result_deinit(&expected);
    for (int i = 0; i < 2; i++) free(half[i]), free(wide[i]);
    free(x);
}

static void test_recurrent_of_bfloat16_has_the_bits_of_its_weights_in_float32(void **state) {
    (void)state;
    static const int64_t batches[] = {1, 3, 17};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        check_bfloat16("LSTM", "LSTMBFloat16", NULL, 4, batches[i]);
        check_bfloat16("GRU", "GRUBFloat16", NULL, 3, batches[i]);
        check_bfloat16("GRU", "GRUBFloat16", "{linear_before_reset=1}", 3, batches[i]);
        check_bfloat16("RNN", "RNNBFloat16", NULL, 1, batches[i]);
    }
}

int test_cpu_recurrent_run(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recurrent_stops_at_each_sequences_length),
        cmocka_unit_test(test_recurrent_of_bfloat16_has_the_bits_of_its_weights_in_float32),
        cmocka_unit_test(test_recurrent_gives_a_sequence_the_same_bits_in_any_batch),
    };
    return cmocka_run_group_tests_name("cpu_recurrent_run", tests, NULL, NULL);
}
