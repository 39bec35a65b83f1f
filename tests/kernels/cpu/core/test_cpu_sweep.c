#include "kernels/cpu/core/cpu_sweep.h"

#include <pthread.h>

#include "tests/support/test_support.h"

enum { LINE = 16, LARGE = 4 << 20, SMALL = 1 << 10 };

static void test_sweep_goes_there_and_back(void **state) {
    (void)state;
    static float weights[LINE];
    for (int i = 0; i < 5; i++) {
        assert_false(cpu_sweep_begin(weights, LARGE).backwards);
        assert_true(cpu_sweep_begin(weights, LARGE).backwards);
    }
}

/* Little that is read between changes nothing; much leaves nothing to come back to. */
static void test_sweep_comes_back_to_what_is_kept(void **state) {
    (void)state;
    static float weights[LINE], little[LINE], much[LINE];
    assert_false(cpu_sweep_begin(weights, LARGE).backwards);
    assert_false(cpu_sweep_begin(little, SMALL).backwards);
    assert_true(cpu_sweep_begin(weights, LARGE).backwards);
    assert_false(cpu_sweep_begin(much, LARGE).backwards);
    for (int i = 0; i < 3; i++) {
        assert_false(cpu_sweep_begin(weights, LARGE).backwards);
        assert_false(cpu_sweep_begin(much, LARGE).backwards);
    }
}

/* What lies between two readings counts, and the weights themselves. */
static void test_sweep_knows_what_is_near(void **state) {
    (void)state;
    static float weights[LINE], others[LINE];
    assert_false(cpu_sweep_begin(weights, LARGE).near); /* never read before */
    for (int i = 0; i < 3; i++) assert_true(cpu_sweep_begin(weights, LARGE).near);
    (void)cpu_sweep_begin(others, CPU_SWEEP_NEAR_BYTES - LARGE);
    assert_true(cpu_sweep_begin(weights, LARGE).near);
    (void)cpu_sweep_begin(others, CPU_SWEEP_NEAR_BYTES - LARGE + 1);
    assert_false(cpu_sweep_begin(weights, LARGE).near);
    assert_true(cpu_sweep_begin(weights, LARGE).near);
    assert_false(cpu_sweep_begin(others, CPU_SWEEP_NEAR_BYTES + 1).near);
    assert_false(cpu_sweep_begin(others, UINT64_MAX).near);
}

static void *ask(void *weights) {
    static const bool answers[2] = {false, true};
    return (void *)(uintptr_t)&answers[cpu_sweep_begin(weights, LARGE).backwards];
}

/* Executions that run beside each other do not take each other's turns. */
static void test_sweep_is_of_one_thread(void **state) {
    (void)state;
    static float weights[LINE];
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        void *answer;
        assert_int_equal(pthread_create(&thread, NULL, ask, weights), 0);
        assert_int_equal(pthread_join(thread, &answer), 0);
        assert_false(*(const bool *)answer);
    }
}

int test_cpu_sweep(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sweep_goes_there_and_back),
        cmocka_unit_test(test_sweep_comes_back_to_what_is_kept),
        cmocka_unit_test(test_sweep_knows_what_is_near),
        cmocka_unit_test(test_sweep_is_of_one_thread),
    };
    return cmocka_run_group_tests_name("cpu_sweep", tests, NULL, NULL);
}
