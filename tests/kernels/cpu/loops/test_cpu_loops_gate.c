#include "tests/kernels/fixtures/loop_fixture.h"

static void test_shrink_has_the_same_bits_at_every_level(void **state) {
    (void)state;
    assert_int_equal(loop_fixture_check(CPU_LOOP_SHRINK, CPU_LOOP_SHRINK), 12);
}

static void test_shrink_takes_its_numbers_from_operands(void **state) {
    (void)state;
    const int8_t x[5] = {-3, -2, 0, 2, 127};
    const uint8_t natural[4] = {0, 2, 3, 255};
    const double bias = 1, limit = 2, half = 0.5, more = 1.5;
    int8_t to[5];
    uint8_t to_natural[4];
    cpu_loop_find(CPU_LEVEL_PORTABLE, CPU_LOOP_SHRINK, DTYPE_INT8)(
        to, (CpuOperand[]){{x, 1}, {&bias, 0}, {&limit, 0}}, 5, NULL);
    assert_memory_equal(to, ((int8_t[]){-2, 0, 0, 0, 126}), 5);
    cpu_loop_find(CPU_LEVEL_PORTABLE, CPU_LOOP_SHRINK, DTYPE_UINT8)(
        to_natural, (CpuOperand[]){{natural, 1}, {&bias, 0}, {&limit, 0}}, 4, NULL);
    assert_memory_equal(to_natural, ((uint8_t[]){0, 0, 2, 254}), 4);
    cpu_loop_find(CPU_LEVEL_PORTABLE, CPU_LOOP_SHRINK, DTYPE_INT8)(
        to, (CpuOperand[]){{x, 1}, {&half, 0}, {&more, 0}}, 5, NULL);
    assert_memory_equal(to, ((int8_t[]){-2, -1, 0, 1, 126}), 5);
}

int test_cpu_loops_gate(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shrink_has_the_same_bits_at_every_level),
        cmocka_unit_test(test_shrink_takes_its_numbers_from_operands),
    };
    return cmocka_run_group_tests_name("cpu_loops_gate", tests, NULL, NULL);
}
