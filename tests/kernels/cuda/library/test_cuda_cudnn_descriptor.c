#include "kernels/cuda/library/cuda_cudnn_descriptor.h"

#include "tests/kernels/fixtures/cuda_device_fixture.h"

static void test_cuda_cudnn_check_tells_what_fits_not_from_what_is_wrong(void **state) {
    (void)state;
    OWN(Device, base) = cuda_device_fixture_get("");
    CudaDevice *device = cuda_device(base);
    assert_ok(cuda_cudnn_check(device, CUDNN_STATUS_SUCCESS, "f"));
    assert_fails_saying(UNSUPPORTED, "cuda:0: f: CUDNN_STATUS",
        cuda_cudnn_check(device, CUDNN_STATUS_NOT_INITIALIZED, "f"));
    assert_fails(
        UNSUPPORTED, cuda_cudnn_check(device, CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH, "f"));
    assert_fails(EXHAUSTED,
        cuda_cudnn_check(device, CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, "f"));
    assert_fails(FAILED, cuda_cudnn_check(device, CUDNN_STATUS_INTERNAL_ERROR, "f"));
    assert_fails(FAILED, cuda_cudnn_check(device, CUDNN_STATUS_BAD_PARAM, "f"));
}

/* The library's reason is in the message. */
static void test_cuda_cudnn_descriptor_says_why_it_is_refused(void **state) {
    (void)state;
    OWN(Device, base) = cuda_device_fixture_get("");
    CudaDevice *device = cuda_device(base);
    CUDA_CUDNN_PILE(pile, device);
    CudnnDescriptor tensor, function;
    assert_ok(cuda_cudnn_descriptor_make(&pile, CUDNN_BACKEND_TENSOR_DESCRIPTOR, &tensor));
    assert_fails_saying(FAILED, "cudnnBackendFinalize: CUDNN_STATUS_BAD_PARAM: an attribute is",
        cuda_cudnn_descriptor_finalize(device, tensor));
    assert_ok(cuda_cudnn_descriptor_make(&pile, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, &function));
    assert_ok(cuda_cudnn_descriptor_set_choice(device, function, CUDNN_ATTR_POINTWISE_MODE,
        CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_RELU_FWD));
    assert_fails(FAILED, cuda_cudnn_descriptor_set_choice(device, function,
                             CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_INT64, CUDNN_DATA_FLOAT));
    assert_ok(cuda_cudnn_descriptor_set_choice(
        device, function, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
    assert_ok(cuda_cudnn_descriptor_finalize(device, function));
    assert_int_equal(pile.count, 2);
}

static void test_cuda_cudnn_descriptor_has_a_limit(void **state) {
    (void)state;
    OWN(Device, base) = cuda_device_fixture_get("");
    CUDA_CUDNN_PILE(pile, cuda_device(base));
    CudnnDescriptor made;
    for (int i = 0; i < CUDA_CUDNN_PILE_MAX; i++)
        assert_ok(cuda_cudnn_descriptor_make(&pile, CUDNN_BACKEND_TENSOR_DESCRIPTOR, &made));
    assert_fails(
        INTERNAL, cuda_cudnn_descriptor_make(&pile, CUDNN_BACKEND_TENSOR_DESCRIPTOR, &made));
}

int test_cuda_cudnn_descriptor(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_cudnn_check_tells_what_fits_not_from_what_is_wrong),
        cmocka_unit_test(test_cuda_cudnn_descriptor_says_why_it_is_refused),
        cmocka_unit_test(test_cuda_cudnn_descriptor_has_a_limit),
    };
    return cmocka_run_group_tests_name("cuda_cudnn_descriptor", tests, NULL, NULL);
}
