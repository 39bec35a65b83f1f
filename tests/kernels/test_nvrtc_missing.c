/* A machine whose NVRTC is not there, or is too old: run with each, and NVRTC_MISSING says what is
 * to be said of it. */
#include <stdlib.h>

#include "kernels/cuda/driver/cuda_nvrtc.h"
#include "kernels/cuda/plugin/cuda_compiled.h"
#include "tests/kernels/fixtures/cuda_device_fixture.h"
#include "tests/support/device_call.h"
#include "tests/support/tensor_text.h"

static void test_nvrtc_missing_is_said(void **state) {
    (void)state;
    CudaNvrtc nvrtc = {0};
    assert_non_null(getenv("NVRTC_MISSING"));
    assert_fails_saying(UNSUPPORTED, getenv("NVRTC_MISSING"), cuda_nvrtc_open(90, 13000, &nvrtc));
    assert_null(nvrtc.api);
}

/* The device opens, and interprets what it would compile. */
static void test_nvrtc_missing_leaves_the_interpreting_kernel(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("");
    DeviceCall call = {.device = device,
        .operator_name = "FusedElementwise",
        .attributes = "{program=\"Tanh i0; Add r0 i0\"}"};
    Tensor *output = NULL;
    const char *kernel_name = NULL;
    assert_null(cuda_device(device)->modules);
    for (const Kernel *const *table = device->class_->kernels(device); *table; table++)
        assert_string_not_equal((*table)->name, "cuda.compiled_elementwise");
    call.input_count = tensor_text_make("T[1024,1024]", DTYPE_FLOAT32, 1, call.inputs);
    assert_ok(device_call_run(&call, &output, &kernel_name));
    assert_string_equal(kernel_name, "cuda.fused_elementwise");
    tensor_release(output);
    tensor_release(call.inputs[0]);
}

int test_nvrtc_missing(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nvrtc_missing_is_said),
        cmocka_unit_test(test_nvrtc_missing_leaves_the_interpreting_kernel),
    };
    return cmocka_run_group_tests_name("nvrtc_missing", tests, NULL, NULL);
}
