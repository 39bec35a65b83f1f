#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

static void check(const char *name, const char *attributes, double size, const double *expected) {
    DeviceCall call = {.operator_name = name, .attributes = attributes, .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_INT64, &size, 0);
    everywhere_check(&call, expected, 2e-3);
    everywhere_release(&call);
}

static void test_windows_are_periodic_or_symmetric(void **state) {
    (void)state;
    check("HannWindow", NULL, 4, (double[]){0, 0.5, 1, 0.5});
    check("HannWindow", "{periodic=0}", 3, (double[]){0, 1, 0});
    check("HannWindow", "{output_datatype=float16}", 4, (double[]){0, 0.5, 1, 0.5});
    check("HannWindow", "{output_datatype=uint8}", 4, (double[]){0, 0, 1, 0});
    check(
        "HammingWindow", "{output_datatype=float64}", 4, (double[]){0.08696, 0.54348, 1, 0.54348});
    /* 0.42 - 0.5 + 0.08 */
    check("BlackmanWindow", "{periodic=0}", 3, (double[]){-0x1p-56, 1, -0x1p-56});
    check("BlackmanWindow", "{output_datatype=bfloat16}", 2, (double[]){-0x1p-56, 1});
}

/* A symmetric window of one element is 0 / 0, as in ONNX's definition. */
static void test_a_symmetric_window_of_one_is_no_number(void **state) {
    (void)state;
    check("HannWindow", "{periodic=0}", 1, (double[]){(double)NAN});
    check("HannWindow", "{periodic=0, output_datatype=int32}", 1, (double[]){0});
}

static void test_bands_are_triangles_over_the_bins(void **state) {
    static const double numbers[5] = {2, 8, 16, 0, 8};
    (void)state;
    DeviceCall call = {.operator_name = "MelWeightMatrix", .input_count = 5};
    for (int i = 0; i < 3; i++) call.inputs[i] = device_tensor(DTYPE_INT32, &numbers[i], 0);
    for (int i = 3; i < 5; i++) call.inputs[i] = device_tensor(DTYPE_FLOAT16, &numbers[i], 0);
    everywhere_check(&call, (double[]){0, 0, 1, 0, 0, 1, 0, 0, 0, 0}, 0);
    everywhere_release(&call);
}

/* More bands than are worked on together, each within the spectrum. */
static void test_many_bands_stay_within_the_spectrum(void **state) {
    static const double numbers[5] = {700, 64, 16000, 0, 8000};
    (void)state;
    DeviceCall call = {.operator_name = "MelWeightMatrix", .input_count = 5};
    Tensor *out = NULL;
    for (int i = 0; i < 3; i++) call.inputs[i] = device_tensor(DTYPE_INT64, &numbers[i], 0);
    for (int i = 3; i < 5; i++) call.inputs[i] = device_tensor(DTYPE_FLOAT64, &numbers[i], 0);
    everywhere_run(&call, &out);
    for (int64_t band = 0; band < 700; band++) {
        double most = 0;
        for (int64_t bin = 0; bin < 33; bin++)
            most = fmax(most, device_tensor_get(out, bin * 700 + band));
        assert_true(most == 1);
    }
    tensor_release(out);
    everywhere_release(&call);
}

int test_cpu_window(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_are_periodic_or_symmetric),
        cmocka_unit_test(test_a_symmetric_window_of_one_is_no_number),
        cmocka_unit_test(test_bands_are_triangles_over_the_bins),
        cmocka_unit_test(test_many_bands_stay_within_the_spectrum),
    };
    return cmocka_run_group_tests_name("cpu_window", tests, NULL, NULL);
}
