#include "kernels/cpu/quantized/cpu_integer_operand.h"

#include "tests/kernels/fixtures/everywhere.h"
#include "tests/kernels/fixtures/kernel_call.h"
#include "tests/kernels/fixtures/infer_fixture.h"

static void test_operand_rows_lie_by_pairs_less_their_zero_points(void **state) {
    static const uint8_t data[] = {1, 2, 255, 4, 5, 6}, zeros[] = {1, 255};
    CpuIntegerOperand operand;
    InferFixture infer;
    int16_t out[8];
    uint64_t bytes;
    (void)state;
    infer_fixture_init(&infer, "MatMulInteger", NULL, "uint8[2,3] uint8[3,1] uint8[2]", 1);
    assert_ok(cpu_integer_operand_of(&infer.request, 0, 2, 0, true, &operand));
    assert_ok(cpu_integer_row_bytes(&operand, &bytes));
    assert_int_equal(bytes, DEVICE_ALIGNMENT);
    assert_ok(cpu_integer_pack_rows(cpu_device(everywhere_cpu()), 1, &operand, data, zeros, out));
    assert_memory_equal(out, ((int16_t[]){0, 1, 254, 0, -251, -250, -249, 0}), sizeof out);
    infer_fixture_deinit(&infer);
}

/* A zero point for each row of each matrix, those of the first dimension shared. */
static void test_operand_numbers_of_lines_are_found_by_batch(void **state) {
    CpuIntegerOperand operand;
    InferFixture infer;
    (void)state;
    infer_fixture_init(
        &infer, "MatMulInteger", NULL, "uint8[2,4,3,5] uint8[5,1] uint8[1,4,3,1]", 1);
    assert_ok(cpu_integer_operand_of(&infer.request, 0, 2, 0, true, &operand));
    assert_int_equal(operand.matrices, 8);
    assert_int_equal(operand.zero_points.count, 12);
    assert_int_equal(operand.zero_points.line, 1);
    for (int64_t matrix = 0; matrix < 8; matrix++)
        assert_int_equal(
            cpu_lines_first(&operand.zero_points, &operand.batch, matrix), matrix % 4 * 3);
    infer_fixture_deinit(&infer);
}

static void test_operand_beyond_all_memory_is_refused(void **state) {
    const CpuIntegerOperand operand = {
        .lines = INT64_C(1) << 40, .depth = INT64_C(1) << 21, .matrices = 16};
    uint64_t bytes;
    (void)state;
    assert_fails_saying(
        INVALID, "an operand of too many elements", cpu_integer_row_bytes(&operand, &bytes));
}

static void test_scales_of_any_number_are_widened(void **state) {
    enum { COUNT = 2 * CPU_SMALL_RUN + 3 };
    static uint16_t halves[COUNT];
    static float out[COUNT];
    CpuWiden widen;
    (void)state;
    for (uint32_t i = 0; i < COUNT; i++) halves[i] = 0x3c00;
    cpu_widen_init(DTYPE_FLOAT16, &widen);
    cpu_integer_widen_scales(&widen, halves, COUNT, out);
    for (uint32_t i = 0; i < COUNT; i++) assert_true(out[i] == 1);
}

int test_cpu_integer_operand(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operand_rows_lie_by_pairs_less_their_zero_points),
        cmocka_unit_test(test_operand_numbers_of_lines_are_found_by_batch),
        cmocka_unit_test(test_operand_beyond_all_memory_is_refused),
        cmocka_unit_test(test_scales_of_any_number_are_widened),
    };
    return cmocka_run_group_tests_name("cpu_integer_operand", tests, NULL, NULL);
}
