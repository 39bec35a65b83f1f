#include "tests/conformance/suite_test.h"

static void test_cpu_computes_what_the_reference_does(void **state) {
    (void)state;
    suite_test("cpu", "values");
}

static void test_sim_computes_what_the_reference_does(void **state) {
    (void)state;
    suite_test("sim:3,memory=64MiB", "values");
}

/* What is queued begins late, so that nothing works by having been done in time. */
static void test_a_device_that_lags_computes_the_same(void **state) {
    (void)state;
    suite_test("sim:0,lag=50", "values");
    suite_test("sim:0,lacks=*,lag=50", "values");
}

/* Every kind of request and answer there is, over the wire. */
static void test_a_device_in_a_process_of_its_own_computes_the_same(void **state) {
    (void)state;
    suite_test("sim:3,memory=64MiB,worker=process", "values");
}

/* Without any kernel of its own: expansions and the host's kernels, copied to and fro. */
static void test_a_device_without_kernels_computes_the_same(void **state) {
    (void)state;
    suite_test("sim:0,lacks=*", "values");
}

int test_values(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_computes_what_the_reference_does),
        cmocka_unit_test(test_sim_computes_what_the_reference_does),
        cmocka_unit_test(test_a_device_that_lags_computes_the_same),
        cmocka_unit_test(test_a_device_in_a_process_of_its_own_computes_the_same),
        cmocka_unit_test(test_a_device_without_kernels_computes_the_same),
    };
    return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
