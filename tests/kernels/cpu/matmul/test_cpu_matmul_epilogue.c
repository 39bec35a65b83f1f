#include "kernels/cpu/matmul/cpu_matmul_epilogue.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/loops/cpu_loop_find.h"
#include "tests/kernels/fixtures/kernel_call.h"

static const CpuLevel levels[] = {CPU_LEVEL_PORTABLE, CPU_LEVEL_AVX2, CPU_LEVEL_AVX512};

static void test_epilogue_gives_the_same_bits_at_every_level(void **state) {
    (void)state;
    enum { COUNT = 37 };
    float *sums = kernel_random_floats(1, COUNT), *bias = kernel_random_floats(2, COUNT);
    float *residual = kernel_random_floats(3, COUNT), expected[COUNT], found[COUNT];
    const CpuEpilogue epilogue = {.alpha = 0.75, .bias_scale = 3, .activation = ACTIVATION_RELU};
    for (int i = 0; i < COUNT; i++) {
        expected[i] = sums[i] * 0.75f + bias[i] * 3.0f;
        expected[i] += residual[i];
        if (expected[i] < 0) expected[i] = 0;
    }
    for (int i = 0; i < 3; i++) {
        if (levels[i] > ((CpuDevice *)kernel_cpu_device())->level) continue;
        memcpy(found, residual, sizeof found);
        cpu_epilogue_row_for(levels[i])(&epilogue, sums, COUNT, bias, 1, found, found);
        assert_memory_equal(found, expected, sizeof found);
    }
    free(sums);
    free(bias);
    free(residual);
}

/* Of every length, above all those that no vector divides, and written over their residual. */
static void test_epilogue_of_several_rows_is_that_of_each(void **state) {
    (void)state;
    enum { ROWS = 3, MOST = 37, STEP = 40, COUNT = ROWS * STEP };
    float *sums = kernel_random_floats(1, COUNT), *bias = kernel_random_floats(2, MOST);
    float *residual = kernel_random_floats(3, COUNT), expected[COUNT], found[COUNT];
    const CpuEpilogue epilogue = {.alpha = 1, .bias_scale = 1, .activation = ACTIVATION_RELU};
    for (int level = 0; level <= (int)((CpuDevice *)kernel_cpu_device())->level; level++)
        for (int64_t count = 1; count <= MOST; count++) {
            const CpuEpilogueRows rows = {
                ROWS, count, sums, STEP, count % 2 ? bias : NULL, found, found, STEP};
            memcpy(expected, residual, sizeof expected);
            memcpy(found, residual, sizeof found);
            for (int64_t i = 0; i < ROWS; i++)
                for (int64_t j = 0; j < count; j++) {
                    float x = sums[i * STEP + j];
                    if (count % 2) x += bias[j];
                    x += residual[i * STEP + j];
                    expected[i * STEP + j] = x < 0 ? 0 : x;
                }
            cpu_epilogue_rows_for((CpuLevel)level)(&epilogue, &rows);
            assert_memory_equal(found, expected, sizeof found);
        }
    free(sums);
    free(bias);
    free(residual);
}

/* Of every length, with values that no activation takes as usual, at every level; written over the
 * sums and over the residual. */
static void test_activations_of_rows_are_those_of_their_loops(void **state) {
    (void)state;
    static const struct {
        Activation activation;
        CpuLoopId loop;
    } ends[] = {{ACTIVATION_CLIP, CPU_LOOP_CLIP}, {ACTIVATION_SWISH, CPU_LOOP_SWISH},
        {ACTIVATION_HARD_SWISH, CPU_LOOP_HARD_SWISH},
        {ACTIVATION_SCALED_HARD_SWISH, CPU_LOOP_SCALED_HARD_SWISH},
        {ACTIVATION_SIGMOID, CPU_LOOP_SIGMOID}};
    static const float special[] = {
        NAN, -NAN, INFINITY, -INFINITY, 0, -0.0f, 88.5f, -88.5f, -87.4f, -89, 1e-40f, 1e30f};
    enum { ROWS = 2, MOST = 149, COUNT = ROWS * MOST, SPECIAL = sizeof special / sizeof *special };
    float *sums = kernel_random_floats(1, COUNT), expected[COUNT], found[COUNT], zeros[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) sums[i] = i % 5 == 2 ? special[i / 5 % SPECIAL] : 9 * sums[i];
    for (int level = 0; level <= (int)((CpuDevice *)kernel_cpu_device())->level; level++)
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
            for (int64_t count = 1; count <= MOST; count++) {
                CpuEpilogue epilogue = {.alpha = 1,
                    .bias_scale = 1,
                    .activation = ends[i].activation,
                    .loop = cpu_loop_find((CpuLevel)level, ends[i].loop, DTYPE_FLOAT32),
                    .parameters = {0.75, 4},
                    .limits = {0.75f, 4}};
                const CpuOperand operands[] = {
                    {sums, 1}, {epilogue.limits, 0}, {epilogue.limits + 1, 0}};
                cpu_loop_find(CPU_LEVEL_PORTABLE, ends[i].loop, DTYPE_FLOAT32)(
                    expected, operands, COUNT, &epilogue.parameters);
                memcpy(found, sums, sizeof found);
                CpuEpilogueRows rows = {ROWS, count, found, MOST, NULL, NULL, found, MOST};
                cpu_epilogue_rows_for((CpuLevel)level)(&epilogue, &rows);
                for (int64_t row = 0; row < ROWS; row++)
                    assert_memory_equal(
                        found + row * MOST, expected + row * MOST, (size_t)count * sizeof *found);
                memcpy(found, sums, sizeof found);
                rows.sums = zeros;
                rows.residual = found;
                cpu_epilogue_rows_for((CpuLevel)level)(&epilogue, &rows);
                for (int64_t row = 0; row < COUNT; row++)
                    if (sums[row] != 0 && row % MOST < count)
                        assert_memory_equal(found + row, expected + row, sizeof *found);
            }
    free(sums);
}

static void test_epilogue_of_doubles_repeats_one_bias(void **state) {
    (void)state;
    const double sums[3] = {1, -2, 3}, bias = 0.5;
    double found[3];
    const CpuEpilogue epilogue = {.alpha = 2, .bias_scale = 1};
    cpu_epilogue_row_f64_for(CPU_LEVEL_PORTABLE)(&epilogue, sums, 3, &bias, 0, NULL, found);
    assert_true(found[0] == 2.5 && found[1] == -3.5 && found[2] == 6.5);
    assert_false(cpu_epilogue_is_plain(&epilogue));
}

/* A fused activation gives the bits of the operator it stands for. */
static void test_epilogue_activations_are_those_of_the_plain_operators(void **state) {
    (void)state;
    static const char *const pairs[][3] = {{"{activation=\"tanh\"}", "Tanh"},
        {"{activation=\"sigmoid\"}", "Sigmoid"}, {"{activation=\"relu\"}", "Relu"},
        {"{activation=\"hard_swish\"}", "HardSwish"}, {"{activation=\"gelu_erf\"}", "Gelu"},
        {"{activation=\"gelu_tanh\"}", "Gelu", "{approximate=\"tanh\"}"},
        {"{activation=\"mish\"}", "Mish"},
        {"{activation=\"swish\", activation_alpha=1.0}", "Swish"},
        {"{activation=\"leaky_relu\", activation_alpha=0.01}", "LeakyRelu"}};
    float *a = kernel_random_floats(1, 6 * 5), *b = kernel_random_floats(2, 5 * 50);
    KernelCall matmul = {.name = "MatMul",
        .input_count = 2,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, {2, {6, 5}}, a}, {DTYPE_FLOAT32, {2, {5, 50}}, b}}};
    KernelResult plain, activated, fused;
    assert_ok(kernel_call_run(kernel_cpu_device(), &matmul, KERNEL_MODE_PLAIN, &plain));
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        KernelCall call = matmul;
        call.name = "FusedMatMul";
        call.attributes = pairs[i][0];
        const KernelCall activation = {.name = pairs[i][1],
            .attributes = pairs[i][2],
            .input_count = 1,
            .output_count = 1,
            .inputs = {{DTYPE_FLOAT32, {2, {6, 50}}, plain.data[0]}}};
        assert_ok(kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &fused));
        assert_ok(kernel_call_run(kernel_cpu_device(), &activation, KERNEL_MODE_PLAIN, &activated));
        assert_memory_equal(fused.data[0], activated.data[0], activated.bytes[0]);
        kernel_result_deinit(&fused);
        kernel_result_deinit(&activated);
    }
    kernel_result_deinit(&plain);
    free(a);
    free(b);
}

int test_cpu_matmul_epilogue(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epilogue_gives_the_same_bits_at_every_level),
        cmocka_unit_test(test_epilogue_of_several_rows_is_that_of_each),
        cmocka_unit_test(test_activations_of_rows_are_those_of_their_loops),
        cmocka_unit_test(test_epilogue_of_doubles_repeats_one_bias),
        cmocka_unit_test(test_epilogue_activations_are_those_of_the_plain_operators),
    };
    return cmocka_run_group_tests_name("cpu_matmul_epilogue", tests, NULL, NULL);
}
