#include "kernels/cuda/driver/cuda_fatbin.h"

#include "kernels/registry/device_registry.h"
#include "kernels/operator/kernel.h"
#include "tests/support/device_call.h"
#include "tests/support/test_support.h"

static bool is_of_a_library(const char *kernel) {
    return strncmp(kernel, "cuda.cublas", 11) == 0 || strncmp(kernel, "cuda.cudnn", 10) == 0;
}

/* A build without nvcc has no kernel of its own and computes all the same; one with it hands its
 * image to the driver, and the fake one takes only what is made for it. */
static void test_cuda_fatbin_is_what_nvcc_made_or_nothing(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    Tensor *output = NULL;
    const char *name = NULL;
    assert_ok(device_open("cuda:0", &device));
    DeviceCall call = {.device = device, .operator_name = "Exp", .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, (double[]){1, 0, 3, 4}, 2, 2, 2);
    Error *error = device_call_run(&call, &output, &name);
    if (TEST_HAS_NVCC) {
        assert_non_null(strstr(error_message(error), "the kernels for SM 9.0"));
        assert_int_equal(error_code(error), ERROR_FAILED);
        error_free(error);
        assert_non_null(device->class_->kernels(device)[0]);
    } else {
        assert_ok(error);
        assert_true(strncmp(name, "cpu.", 4) == 0);
        for (const Kernel *const *table = device->class_->kernels(device); *table; table++)
            assert_true(is_of_a_library((*table)->name));
    }
    tensor_release(output);
    tensor_release(call.inputs[0]);
}

int test_cuda_fatbin(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_fatbin_is_what_nvcc_made_or_nothing),
    };
    return cmocka_run_group_tests_name("cuda_fatbin", tests, NULL, NULL);
}
