#include "kernels/cpu/quantized/cpu_lower_operands.h"

#include <math.h>

#include "tests/kernels/fixtures/lower_fixture.h"

/* From the third column of the second row on, alone and with what a bias and a residual add;
 * nothing beside. */
static void test_rows_of_sums_are_scaled_and_finished_where_they_belong(void **state) {
    (void)state;
    static const int32_t sums[] = {2, -4};
    static const float scales[] = {9, 9, 0.5F, 0.25F}, bias[] = {9, 9, 1, 2};
    static const float residual[] = {9, 9, 9, 9, 9, 9, 10, 20};
    const CpuEpilogue epilogue = {.alpha = 1, .bias_scale = 1};
    for (int is_int8 = 0; is_int8 < 2; is_int8++) {
        const CpuLowerOperands operands = {.is_int8 = is_int8,
            .columns = 4,
            .row = cpu_lower_rows_for(CPU_LEVEL_PORTABLE, CPU_LOWER_INT8),
            .epilogue = epilogue,
            .epilogue_row = cpu_epilogue_row_for(CPU_LEVEL_PORTABLE)};
        static const float real[] = {3, -3};
        float to[8] = {0};
        const CpuLowerResults plain = {.scales = is_int8 ? scales : NULL, .to = to};
        const CpuLowerResults all = {plain.scales, bias, residual, to};
        const void *from = is_int8 ? (const void *)sums : real;
        static const CpuLowerSpan span = {1, 2, 2};
        cpu_lower_finish_row(&operands, &plain, from, 3, NULL, &span);
        /* int8: 2 * (3 * 0.5), -4 * (3 * 0.25) */
        const float alone[8] = {0, 0, 0, 0, 0, 0, 3, -3};
        assert_memory_equal(to, alone, sizeof to);
        cpu_lower_finish_row(&operands, &all, from, 3, NULL, &span);
        const float with[8] = {0, 0, 0, 0, 0, 0, 3 + 1 + 10, -3 + 2 + 20};
        assert_memory_equal(to, with, sizeof to);
        static const float infinite[] = {-INFINITY, 8};
        if (!is_int8) continue;
        cpu_lower_finish_row(&operands, &plain, from, 3, infinite, &span);
        assert_true(to[6] == -INFINITY && to[7] == (-4 + 8) * (3 * 0.25F));
    }
}

static void test_room_is_aligned_and_bounded(void **state) {
    (void)state;
    static const int64_t counts[] = {3, 5}, huge[] = {INT64_MAX, 3}, negative[] = {-1};
    uint64_t total = 0;
    assert_ok(cpu_lower_reserve(7, 2, counts, &total));
    assert_int_equal(total, (105 + DEVICE_ALIGNMENT - 1) / DEVICE_ALIGNMENT * DEVICE_ALIGNMENT);
    const uint64_t before = total;
    assert_ok(cpu_lower_reserve(1, 0, NULL, &total));
    assert_int_equal(total, before + DEVICE_ALIGNMENT);
    assert_fails_saying(INVALID, "too large", cpu_lower_reserve(1, 2, huge, &total));
    assert_fails_saying(INVALID, "too large", cpu_lower_reserve(1, 1, negative, &total));
    assert_fails_saying(INVALID, "too large", cpu_lower_reserve(1, 1, huge, &total));
}

int test_cpu_lower_operands(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_sums_are_scaled_and_finished_where_they_belong),
        cmocka_unit_test(test_room_is_aligned_and_bounded),
    };
    return cmocka_run_group_tests_name("cpu_lower_operands", tests, NULL, NULL);
}
