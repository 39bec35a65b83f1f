#include "kernels/cuda/driver/cuda_nvrtc.h"

#include "tests/kernels/fixtures/cuda_device_fixture.h"

static const char good[] = "#include \"kernels/cuda/device/device_group.h\"\n"
                           "KERNEL(nothing, CudaPointwiseOperands) { (void)p; }\n";

/* Machine code where the library knows the GPU; else what the driver assembles, of the highest that
 * it knows. */
static void test_cuda_nvrtc_chooses_what_the_gpu_runs(void **state) {
    (void)state;
    static const struct {
        int sm, version, chosen;
        bool assembled;
    } rows[] = {{90, 13000, 90, true}, {75, 13020, 75, true}, {89, 13000, 89, true},
        {121, 13000, 90, false}, {87, 13010, 86, false}, {90, 14000, 90, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CudaNvrtc nvrtc;
        assert_ok(cuda_nvrtc_open(rows[i].sm, rows[i].version, &nvrtc));
        assert_int_equal(nvrtc.sm, rows[i].chosen);
        assert_int_equal(nvrtc.assembled, rows[i].assembled);
    }
}

static void test_cuda_nvrtc_refuses_gpus_and_drivers_that_are_too_old(void **state) {
    (void)state;
    CudaNvrtc nvrtc = {0};
    assert_fails_saying(UNSUPPORTED, "NVRTC 13.0 knows nothing that SM 70 runs",
        cuda_nvrtc_open(70, 13000, &nvrtc));
    assert_fails_saying(UNSUPPORTED, "NVRTC 13.0 is newer than the driver's CUDA 12.8",
        cuda_nvrtc_open(90, 12080, &nvrtc));
    assert_null(nvrtc.api);
}

static void test_cuda_nvrtc_makes_images(void **state) {
    (void)state;
    static const int sms[] = {90, 121};
    for (int i = 0; i < 2; i++) {
        CudaNvrtc nvrtc;
        OWN_IMAGE(image) = {0};
        assert_ok(cuda_nvrtc_open(sms[i], 13000, &nvrtc));
        assert_ok(cuda_nvrtc_compile(&nvrtc, "nothing", good, &image, NULL));
        assert_non_null(image.bytes);
        assert_true(image.size > sizeof good);
    }
}

static void test_cuda_nvrtc_says_what_the_compiler_says(void **state) {
    (void)state;
    CudaNvrtc nvrtc;
    CudaImage image = {0};
    assert_ok(cuda_nvrtc_open(90, 13000, &nvrtc));
    assert_fails_saying(FAILED, "no_such_thing",
        cuda_nvrtc_compile(
            &nvrtc, "broken", "int broken(void) { return no_such_thing; }", &image, NULL));
    assert_fails_saying(FAILED, "no_such_header",
        cuda_nvrtc_compile(&nvrtc, "lost", "#include \"no_such_header.h\"\n", &image, NULL));
    nvrtc.sm = 12;
    assert_fails_saying(FAILED, "nvrtcCompileProgram: NVRTC_ERROR_INVALID_OPTION",
        cuda_nvrtc_compile(&nvrtc, "nothing", good, &image, NULL));
    assert_null(image.bytes);
}

int test_cuda_nvrtc(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_nvrtc_chooses_what_the_gpu_runs),
        cmocka_unit_test(test_cuda_nvrtc_refuses_gpus_and_drivers_that_are_too_old),
        cmocka_unit_test(test_cuda_nvrtc_makes_images),
        cmocka_unit_test(test_cuda_nvrtc_says_what_the_compiler_says),
    };
    return cmocka_run_group_tests_name("cuda_nvrtc", tests, NULL, NULL);
}
