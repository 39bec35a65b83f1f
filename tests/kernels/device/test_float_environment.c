#include "kernels/device/float_environment.h"

#include <fenv.h>
#include <float.h>

#include "tests/support/test_support.h"

/* Not inline: a division might be moved out of the environment it is meant for. */
__attribute__((noinline)) static float divide(float a, float b) {
    const volatile float dividend = a, divisor = b;
    return dividend / divisor;
}

/* Whatever a caller's thread rounds to, kernels round to nearest; it has its own back afterwards.
 */
static void test_float_environment_is_its_own(void **state) {
    (void)state;
    FloatEnvironment environment;
    const float nearest = divide(1, 3);
    const int refused = fesetround(FE_DOWNWARD);
    const float downward = divide(1, 3);
    float_environment_enter(&environment);
    const float inside = divide(1, 3);
    float_environment_leave(&environment);
    const float after = divide(1, 3);
    const int left = fegetround();
    (void)fesetround(FE_TONEAREST); /* before an assertion may end the test */
    assert_int_equal(refused, 0);
    assert_int_equal(left, FE_DOWNWARD);
    assert_true(downward < nearest);
    assert_true(inside == nearest);
    assert_true(after == downward);
}

#ifdef __x86_64__
static void test_float_environment_keeps_denormals(void **state) {
    (void)state;
    enum { FLUSHES = 1 << 15, READS_AS_ZERO = 1 << 6 };
    FloatEnvironment environment;
    const unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | FLUSHES | READS_AS_ZERO);
    const float flushed = divide(FLT_MIN, 3);
    float_environment_enter(&environment);
    const float kept = divide(FLT_MIN, 3);
    float_environment_leave(&environment);
    const unsigned left = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    assert_true(flushed == 0);
    assert_true(kept > 0);
    assert_true(left & FLUSHES && left & READS_AS_ZERO);
}
#endif

int test_float_environment(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float_environment_is_its_own),
#ifdef __x86_64__
        cmocka_unit_test(test_float_environment_keeps_denormals),
#endif
    };
    return cmocka_run_group_tests_name("float_environment", tests, NULL, NULL);
}
