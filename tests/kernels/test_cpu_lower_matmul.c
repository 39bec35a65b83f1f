#include <math.h>
#include <stdlib.h>

#include "tests/kernels/kernel_call.h"
#include "kernels/dtype_scalar.h"
#include "tests/support/test_random.h"

typedef struct Operands {
    float *a, *scales, *bias, *residual;
    void *b;
} Operands;

/* [rows, depth] times [depth, columns] with everything that may follow. */
static KernelCall call_of(bool int8, int64_t rows, int64_t depth, int64_t columns, Operands *out) {
    uint64_t seed = 11;
    *out = (Operands){kernel_random_floats(1, rows * depth), kernel_random_floats(2, columns),
        kernel_random_floats(3, columns), kernel_random_floats(4, rows * columns),
        calloc((size_t)(depth * columns) + 1, 2)};
    assert_non_null(out->b);
    for (int64_t i = 0; i < depth * columns; i++) {
        const int64_t element = (int64_t)(test_random(&seed) % 255) - 127;
        if (int8)
            ((int8_t *)out->b)[i] = (int8_t)element;
        else
            ((uint16_t *)out->b)[i] = dtype_scalar_bfloat16((double)element / 128);
    }
    const Shape row = {1, {columns}}, result = {2, {rows, columns}};
    KernelCall call = {.name = int8 ? "FusedMatMulInt8" : "FusedMatMulBFloat16",
        .attributes = "{activation=\"gelu_erf\"}",
        .output_count = 1};
    call.inputs[call.input_count++] = (KernelInput){DTYPE_FLOAT32, {2, {rows, depth}}, out->a};
    call.inputs[call.input_count++] =
        (KernelInput){int8 ? DTYPE_INT8 : DTYPE_BFLOAT16, {2, {depth, columns}}, out->b};
    if (int8) call.inputs[call.input_count++] = (KernelInput){DTYPE_FLOAT32, row, out->scales};
    call.inputs[call.input_count++] = (KernelInput){DTYPE_FLOAT32, row, out->bias};
    call.inputs[call.input_count++] = (KernelInput){DTYPE_FLOAT32, result, out->residual};
    return call;
}

static void operands_free(Operands *operands) {
    free(operands->a);
    free(operands->b);
    free(operands->scales);
    free(operands->bias);
    free(operands->residual);
}

/* Threads, odd addresses, in place, packed weights: one result. More than one tile in every
 * direction, and blocks of the depth. */
static void test_lower_products_have_the_same_bits_however_they_run(void **state) {
    (void)state;
    static const struct {
        int64_t rows, depth, columns;
    } sizes[] = {{1, 300, 130}, {5, 33, 64}, {100, 130, 70}, {97, 700, 20}};
    for (int int8 = 0; int8 < 2; int8++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            Operands operands;
            KernelResult plain;
            const KernelCall call =
                call_of(int8, sizes[i].rows, sizes[i].depth, sizes[i].columns, &operands);
            kernel_call_check_bits(kernel_cpu_device(), &call, &plain);
            assert_true(kernel_call_check_packed(kernel_cpu_device(), &call, 2, &plain));
            kernel_result_deinit(&plain);
            operands_free(&operands);
        }
}

/* Sums of integers: the portable device gives what every other does. */
static void test_int8_has_the_same_bits_on_the_portable_device(void **state) {
    (void)state;
    Operands operands;
    KernelResult fast, portable;
    const KernelCall call = call_of(true, 50, 257, 90, &operands);
    assert_ok(kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &fast));
    assert_ok(kernel_call_run(kernel_portable_device(), &call, KERNEL_MODE_PLAIN, &portable));
    assert_memory_equal(fast.data[0], portable.data[0], fast.bytes[0]);
    kernel_result_deinit(&fast);
    kernel_result_deinit(&portable);
    operands_free(&operands);
}

static void test_rows_without_a_finite_range_give_nan_alone(void **state) {
    (void)state;
    Operands operands;
    KernelResult result;
    KernelCall call = call_of(true, 3, 40, 20, &operands);
    call.attributes = NULL;
    operands.a[40 + 7] = INFINITY;
    assert_ok(kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &result));
    for (int64_t i = 0; i < 60; i++)
        assert_int_equal(isnan(kernel_result_at(&result, 0, i)), i / 20 == 1);
    kernel_result_deinit(&result);
    operands_free(&operands);
}

int test_cpu_lower_matmul(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_products_have_the_same_bits_however_they_run),
        cmocka_unit_test(test_int8_has_the_same_bits_on_the_portable_device),
        cmocka_unit_test(test_rows_without_a_finite_range_give_nan_alone),
    };
    return cmocka_run_group_tests_name("cpu_lower_matmul", tests, NULL, NULL);
}
