#include <stdlib.h>

#include "tests/conformance/suite_test.h"

static void test_cuda_computes_what_the_reference_does(void **state) {
    (void)state;
    suite_test("cuda:0", "values");
}

/* Nothing is read before it is there, however late that is, and a graph does what its launches did.
 */
static void test_cuda_computes_the_same_late_and_with_graphs(void **state) {
    (void)state;
    TEST_OF_RESULTS();
    SuiteBits bits;
    suite_bits_take("cuda:0", &bits);
    suite_bits_test(&bits, "cuda:0,graphs=on");
    assert_int_equal(setenv("FAKE_CUDA_LAG_US", "20", 1), 0);
    suite_bits_test(&bits, "cuda:1");
    assert_int_equal(unsetenv("FAKE_CUDA_LAG_US"), 0);
    suite_bits_deinit(&bits);
}

/* Odd addresses, in place or not: no bit of a result depends on them. */
static void test_cuda_computes_the_same_bits_each_time(void **state) {
    (void)state;
    TEST_OF_RESULTS();
    suite_test("cuda:0", "equality");
    suite_test("cuda:0", "expansion");
}

static void test_cuda_ends_mutated_calls_as_the_cpu(void **state) {
    (void)state;
    suite_test("cuda:0", "random");
}

int test_cuda_values(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_computes_what_the_reference_does),
        cmocka_unit_test(test_cuda_computes_the_same_late_and_with_graphs),
        cmocka_unit_test(test_cuda_computes_the_same_bits_each_time),
        cmocka_unit_test(test_cuda_ends_mutated_calls_as_the_cpu),
    };
    return cmocka_run_group_tests_name("cuda_values", tests, NULL, NULL);
}
