#include "kernels/cpu/quantized/cpu_lower_bytes.h"

#include "tests/kernels/fixtures/kernel_call.h"

static void test_rows_end_with_zeros_and_have_sums_less_their_zero_points(void **state) {
    static const uint8_t from[] = {0, 255, 128, 7, 3};
    uint8_t bytes[8];
    int16_t words[6];
    uint32_t sum;
    (void)state;
    for (int level = 0; level <= (int)cpu_device(kernel_cpu_device())->level; level++) {
        const CpuLowerBytes quads = cpu_lower_bytes_for((CpuLevel)level, CPU_LOWER_INT8_DOT);
        const CpuLowerBytes pairs = cpu_lower_bytes_for((CpuLevel)level, CPU_LOWER_INT8);
        quads.row(from, CPU_LOWER_FLIP, 130, 5, bytes, &sum);
        assert_memory_equal(bytes, ((uint8_t[]){128, 127, 0, 135, 131, 0, 0, 0}), 8);
        assert_int_equal((int32_t)sum, 128 + 127 + 135 + 131 - 5 * 130);
        pairs.row(from, 0, 7, 5, words, NULL);
        assert_memory_equal(words, ((int16_t[]){-7, 248, 121, 0, -4, 0}), 12);
        pairs.row(from, 0, 7, 5, NULL, &sum);
        assert_int_equal((int32_t)sum, -7 + 248 + 121 - 4);
    }
}

static void test_sums_are_adjusted_modulo_two_to_the_32(void **state) {
    static const int32_t bias[] = {1, -1, 5}, zeros[] = {2, 0, -3};
    (void)state;
    for (int level = 0; level <= (int)cpu_device(kernel_cpu_device())->level; level++) {
        const CpuLowerBytes bytes = cpu_lower_bytes_for((CpuLevel)level, CPU_LOWER_INT8);
        int32_t sums[3] = {INT32_MAX, INT32_MIN, 100};
        bytes.adjust(sums, bias, zeros, 7, 3);
        assert_memory_equal(sums, ((int32_t[]){INT32_MAX - 13, INT32_MAX, 126}), 12);
        bytes.adjust(sums, NULL, NULL, 7, 3);
        assert_int_equal(sums[2], 126);
    }
}

int test_cpu_lower_bytes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_end_with_zeros_and_have_sums_less_their_zero_points),
        cmocka_unit_test(test_sums_are_adjusted_modulo_two_to_the_32),
    };
    return cmocka_run_group_tests_name("cpu_lower_bytes", tests, NULL, NULL);
}
