#include "tests/kernels/fixtures/loop_fixture.h"

static void test_comparisons_and_selection_have_the_same_bits_at_every_level(void **state) {
    (void)state;
    assert_int_equal(loop_fixture_check(CPU_LOOP_EQUAL, CPU_LOOP_WHERE), 13 + 2 * 12 + 3 * 9 + 17);
    (void)loop_fixture_check(CPU_LOOP_COPY, CPU_LOOP_NOT);
    assert_int_equal(loop_fixture_check(CPU_LOOP_IS_NAN, CPU_LOOP_IS_NAN), 4);
    assert_int_equal(loop_fixture_check(CPU_LOOP_SHIFT_LEFT, CPU_LOOP_IS_INF), 3 * 8 + 4);
}

/* Whatever bytes stand for true, the result is 0 or 1. */
static void test_logic_takes_any_byte_for_true(void **state) {
    (void)state;
    const uint8_t a[4] = {0, 2, 255, 1}, b[4] = {128, 0, 4, 1};
    uint8_t to[4];
    static const struct {
        CpuLoopId id;
        uint8_t expected[4];
    } cases[] = {
        {CPU_LOOP_BIT_AND, {0, 0, 1, 1}},
        {CPU_LOOP_BIT_OR, {1, 1, 1, 1}},
        {CPU_LOOP_BIT_XOR, {1, 1, 0, 0}},
        {CPU_LOOP_EQUAL, {0, 0, 1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CpuLoop *loop = cpu_loop_find(CPU_LEVEL_PORTABLE, cases[i].id, DTYPE_BOOL);
        loop(to, (CpuOperand[]){{a, 1}, {b, 1}}, 4, NULL);
        assert_memory_equal(to, cases[i].expected, 4);
    }
}

int test_cpu_loops_compare(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparisons_and_selection_have_the_same_bits_at_every_level),
        cmocka_unit_test(test_logic_takes_any_byte_for_true),
    };
    return cmocka_run_group_tests_name("cpu_loops_compare", tests, NULL, NULL);
}
