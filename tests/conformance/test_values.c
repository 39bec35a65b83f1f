#include "tests/conformance/conformance.h"

static Error *check_values(Device *device, const ConformanceCase *row, DType dtype) {
    ConformanceRun run;
    conformance_prepare(device, row, dtype, &run);
    Error *error = device_call_run(&run.call, run.outputs, &run.kernel_name);
    if (!error) {
        error = conformance_compare(&run, row, dtype);
        if (error) error = error_wrap(error, "%s", run.kernel_name);
    }
    conformance_run_deinit(&run);
    return error;
}

static void test_cpu_computes_what_the_reference_does(void **state) {
    (void)state;
    conformance_for_each("cpu", check_values);
}

static void test_sim_computes_what_the_reference_does(void **state) {
    (void)state;
    conformance_for_each("sim:3,memory=64MiB", check_values);
}

/* Without any kernel of its own: expansions and the host's kernels, copied to and fro. */
static void test_a_device_without_kernels_computes_the_same(void **state) {
    (void)state;
    conformance_for_each("sim:0,lacks=*", check_values);
}

int test_values(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_computes_what_the_reference_does),
        cmocka_unit_test(test_sim_computes_what_the_reference_does),
        cmocka_unit_test(test_a_device_without_kernels_computes_the_same),
    };
    return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
