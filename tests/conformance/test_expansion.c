#include <math.h>

#include "tests/conformance/conformance.h"

/* A fused kernel and the plain operators it stands for say the same. */
static Error *compare(const ConformanceRun *run, const Tensor *plain) {
    const Tensor *fused = run->outputs[0];
    if (fused->dtype != plain->dtype || !shape_equal(&fused->shape, &plain->shape))
        FAIL(INTERNAL, "another shape");
    double allowed = dtype_bits(fused->dtype) >= 32 ? 4e-5 : 2e-2;
    for (int64_t i = 0; i < shape_count_unchecked(&fused->shape); i++) {
        double a = device_tensor_get(fused, i), b = device_tensor_get(plain, i);
        if (!(fabs(a - b) <= allowed * (1 + fabs(b))))
            FAIL(INTERNAL, "%s: %.9g, the expansion: %.9g", run->kernel_name, a, b);
    }
    return NULL;
}

static Error *check_expansion(Device *device, const ConformanceCase *row, DType dtype) {
    if (!operator_find(row->operator_name)->expansion[0]) return NULL;
    ConformanceRun run;
    Tensor *plain[CONFORMANCE_OUTPUTS_MAX] = {NULL};
    conformance_prepare(device, row, dtype, &run);
    Error *error = device_call_run(&run.call, run.outputs, &run.kernel_name);
    run.call.expand = true;
    if (!error) error = device_call_run(&run.call, plain, NULL);
    if (!error) error = compare(&run, plain[0]);
    tensor_release(plain[0]);
    conformance_run_deinit(&run);
    return error;
}

static void test_fused_operators_equal_their_expansions(void **state) {
    (void)state;
    conformance_for_each("cpu", check_expansion);
    conformance_for_each("sim:0", check_expansion);
}

/* The expansion against the reference, whatever fused kernels there are. */
static Error *check_expansion_values(Device *device, const ConformanceCase *row, DType dtype) {
    if (!operator_find(row->operator_name)->expansion[0]) return NULL;
    ConformanceRun run;
    conformance_prepare(device, row, dtype, &run);
    run.call.expand = true;
    run.call.threads = 3;
    Error *error = device_call_run(&run.call, run.outputs, &run.kernel_name);
    if (!error && dtype_bits(dtype) >= 32) error = conformance_compare(&run, row, dtype);
    conformance_run_deinit(&run);
    return error;
}

static void test_expansions_compute_what_the_reference_does(void **state) {
    (void)state;
    conformance_for_each("cpu", check_expansion_values);
    conformance_for_each("sim:0", check_expansion_values);
}

int test_expansion(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fused_operators_equal_their_expansions),
        cmocka_unit_test(test_expansions_compute_what_the_reference_does),
    };
    return cmocka_run_group_tests_name("expansion", tests, NULL, NULL);
}
