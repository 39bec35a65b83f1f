#include "tests/kernels/fixtures/everywhere.h"

#include <math.h>

/* Pairs that agree with each other have one answer: p of a pair is p_i / (p_i + p_j). */
static void test_pairs_that_agree_give_the_classes_back(void **state) {
    (void)state;
    const double p[] = {0.5, 0.3, 0.2};
    DeviceCall call = {.operator_name = "SvmCouple", .attributes = "{classes=3}", .input_count = 1};
    call.inputs[0] =
        device_tensor(DTYPE_FLOAT32, (double[]){p[0] / 0.8, p[0] / 0.7, p[1] / 0.5}, 2, 1, 3);
    everywhere_check(&call, p, 0.01);
    everywhere_release(&call);
}

/* The rounds go on to their limit. */
static void test_what_is_no_number_stays_so(void **state) {
    (void)state;
    const double nan = (double)NAN;
    DeviceCall call = {.operator_name = "SvmCouple", .attributes = "{classes=2}", .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, (double[]){nan, 0.5}, 2, 2, 1);
    everywhere_check(&call, (double[]){nan, nan, 0.5, 0.5}, 0);
    everywhere_release(&call);
}

int test_cpu_svm_couple(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_that_agree_give_the_classes_back),
        cmocka_unit_test(test_what_is_no_number_stays_so),
    };
    return cmocka_run_group_tests_name("cpu_svm_couple", tests, NULL, NULL);
}
