#include "kernels/cpu/matmul/cpu_matmul_narrow.h"

#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

/* A row has the same bits in a narrow product and alone, in another kernel. */
static void test_a_narrow_product_has_the_bits_of_its_rows(void **state) {
    (void)state;
    enum { M = 530, N = 3, K = 13 };
    float *a = kernel_random_floats(1, M * K), *b = kernel_random_floats(2, K * N);
    KernelCall call = {.name = "MatMul",
        .input_count = 2,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, {2, {M, K}}, a}, {DTYPE_FLOAT32, {2, {K, N}}, b}}};
    KernelResult all, one;
    kernel_call_check_bits(kernel_cpu_device(), &call, &all);
    kernel_call_check_packed(kernel_cpu_device(), &call, 2, &all);
    call.inputs[0].shape.dims[0] = 1;
    for (int row = 0; row < M; row += 23) {
        call.inputs[0].data = a + row * K;
        assert_ok(kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &one));
        assert_memory_equal(one.data[0], (float *)all.data[0] + row * N, N * sizeof(float));
        kernel_result_deinit(&one);
    }
    kernel_result_deinit(&all);
    free(a);
    free(b);
}

/* A product without columns or matrices has no narrow form to run. */
static void test_products_without_elements_end(void **state) {
    (void)state;
    const float rows[16] = {0};
    KernelCall call = {.name = "MatMul",
        .input_count = 2,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, {2, {16, 1}}, rows}, {DTYPE_FLOAT32, {2, {1, 0}}, NULL}}};
    KernelResult result;
    assert_ok(kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &result));
    assert_int_equal(result.bytes[0], 0);
    kernel_result_deinit(&result);
    call.inputs[0] = (KernelInput){DTYPE_FLOAT32, {3, {0, 16, 1}}, NULL};
    call.inputs[1] = (KernelInput){DTYPE_FLOAT32, {3, {0, 1, 2}}, NULL};
    assert_ok(kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &result));
    assert_int_equal(result.bytes[0], 0);
    kernel_result_deinit(&result);
}

int test_cpu_matmul_narrow(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_without_elements_end),
        cmocka_unit_test(test_a_narrow_product_has_the_bits_of_its_rows),
    };
    return cmocka_run_group_tests_name("cpu_matmul_narrow", tests, NULL, NULL);
}
