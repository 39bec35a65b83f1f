#include "tests/kernels/fixtures/loop_fixture.h"

/* Also: in place, odd addresses, repeated operands, cut in two. */
static void test_arithmetic_has_the_same_bits_at_every_level(void **state) {
    (void)state;
    uint32_t count = loop_fixture_check(CPU_LOOP_MOD, CPU_LOOP_PRELU);
    assert_int_equal(count, 5 * 12 + 4 + 2 * 8);
}

static void test_squares_are_exact_whether_the_exponent_is_repeated_or_not(void **state) {
    (void)state;
    float x[64], two[64], a[64], b[64];
    for (int i = 0; i < 64; i++) {
        x[i] = (float)i * 1.1f - 30;
        two[i] = 2;
    }
    CpuLoop *loop = cpu_loop_find(CPU_LEVEL_PORTABLE, CPU_LOOP_POW, DTYPE_FLOAT32);
    loop(a, (CpuOperand[]){{x, 1}, {two, 0}}, 64, NULL);
    loop(b, (CpuOperand[]){{x, 1}, {two, 1}}, 64, NULL);
    assert_memory_equal(a, b, sizeof a);
    for (int i = 0; i < 64; i++) assert_true(a[i] == x[i] * x[i]);
}

int test_cpu_loops_arithmetic(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic_has_the_same_bits_at_every_level),
        cmocka_unit_test(test_squares_are_exact_whether_the_exponent_is_repeated_or_not),
    };
    return cmocka_run_group_tests_name("cpu_loops_arithmetic", tests, NULL, NULL);
}
