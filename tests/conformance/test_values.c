#include "tests/conformance/suite_test.h"

static void test_cpu_computes_what_the_reference_does(void **state) {
    (void)state;
    suite_test("cpu", "values");
}

/* Without any kernel of its own: expansions and the host's kernels, copied to and fro. */
static void test_a_device_without_kernels_computes_what_the_reference_does(void **state) {
    (void)state;
    suite_test("sim:0,lacks=*", "values");
}

/* Where the cpu's kernels run elsewhere, a wait in between is all that differs: in another memory,
 * late (so that nothing works by having been done in time), or in a process of its own, with every
 * kind of request and answer there is. */
static void test_sim_has_the_bits_of_the_cpu_however_it_runs(void **state) {
    (void)state;
    SuiteBits bits;
    suite_bits_take("cpu", &bits);
    suite_bits_test(&bits, "sim:3,memory=64MiB");
    suite_bits_test(&bits, "sim:0,lag=50");
    suite_bits_test(&bits, "sim:3,memory=64MiB,worker=process");
    suite_bits_deinit(&bits);
}

static void test_a_device_without_kernels_that_lags_computes_the_same(void **state) {
    (void)state;
    SuiteBits bits;
    suite_bits_take("sim:0,lacks=*", &bits);
    suite_bits_test(&bits, "sim:0,lacks=*,lag=50");
    suite_bits_deinit(&bits);
}

int test_values(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_computes_what_the_reference_does),
        cmocka_unit_test(test_a_device_without_kernels_computes_what_the_reference_does),
        cmocka_unit_test(test_sim_has_the_bits_of_the_cpu_however_it_runs),
        cmocka_unit_test(test_a_device_without_kernels_that_lags_computes_the_same),
    };
    return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
