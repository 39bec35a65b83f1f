#include "kernels/cpu/matmul/cpu_matmul.h"

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/kernel_call.h"

static void read_operands(
    const char *name, const char *text, const Shape *shapes, uint32_t count, CpuMatmul *out) {
    Attributes *attributes = NULL;
    const OperatorInfo *info = operator_find(name);
    TensorSpec specs[4] = {{0}};
    for (uint32_t i = 0; i < count; i++) specs[i] = (TensorSpec){true, DTYPE_FLOAT32, 0, shapes[i]};
    const void *values[4] = {0};
    assert_ok(attributes_parse(&text, &attributes));
    assert_ok(attributes_check(attributes, info));
    PlanRequest request = {.operator_info = info,
        .attributes = attributes,
        .input_count = count,
        .output_count = 1,
        .inputs = specs,
        .values = values};
    assert_ok(operator_infer(&request));
    assert_ok(cpu_matmul_operands(&request, CPU_LEVEL_PORTABLE, DTYPE_FLOAT32, out));
    attributes_release(attributes);
}

static void test_matmul_operands_fold_batches_into_rows(void **state) {
    (void)state;
    CpuMatmul matmul;
    read_operands("MatMul", "{}", (Shape[]){{4, {2, 3, 5, 6}}, {2, {6, 7}}}, 2, &matmul);
    assert_int_equal(matmul.rows, 30);
    assert_int_equal(matmul.batch_count, 1);
    /* B changes with the outer batch: only the inner one is folded */
    read_operands("MatMul", "{}", (Shape[]){{4, {2, 3, 5, 6}}, {4, {2, 1, 6, 7}}}, 2, &matmul);
    assert_int_equal(matmul.rows, 15);
    assert_int_equal(matmul.batch_count, 2);
    assert_int_equal(matmul.b_batch[0], 42);
    /* A is read by columns: its batches are no rows */
    read_operands("FusedMatMul", "{transA=1}", (Shape[]){{3, {2, 6, 5}}, {2, {6, 7}}}, 2, &matmul);
    assert_int_equal(matmul.rows, 5);
    assert_int_equal(matmul.batch_count, 2);
}

static void test_matmul_operands_read_strides_of_bias(void **state) {
    (void)state;
    CpuMatmul matmul;
    read_operands(
        "FusedMatMul", "{}", (Shape[]){{3, {2, 5, 6}}, {2, {6, 7}}, {3, {2, 5, 1}}}, 3, &matmul);
    assert_int_equal(matmul.rows, 10);
    assert_int_equal(matmul.bias_row, 1);
    assert_int_equal(matmul.bias_column, 0);
    read_operands(
        "FusedMatMul", "{}", (Shape[]){{3, {2, 5, 6}}, {2, {6, 7}}, {3, {2, 1, 7}}}, 3, &matmul);
    assert_int_equal(matmul.rows, 5);
    assert_int_equal(matmul.bias_batch[0], 7);
    assert_int_equal(matmul.bias_column, 1);
    /* beta 0: what C holds does not matter */
    read_operands("Gemm", "{beta=0.0}", (Shape[]){{2, {5, 6}}, {2, {6, 7}}, {1, {7}}}, 3, &matmul);
    assert_false(matmul.has_bias);
}

int test_cpu_matmul_operands(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul_operands_fold_batches_into_rows),
        cmocka_unit_test(test_matmul_operands_read_strides_of_bias),
    };
    return cmocka_run_group_tests_name("cpu_matmul_operands", tests, NULL, NULL);
}
