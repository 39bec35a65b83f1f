#include "tests/kernels/fixtures/cuda_device_fixture.h"

static void test_cuda_check_tells_what_the_driver_calls_it(void **state) {
    (void)state;
    OWN(Device, base) = cuda_device_fixture_get("");
    CudaDevice *device = cuda_device(base);
    assert_ok(cuda_check(device, CUDA_SUCCESS, "cuX"));
    assert_fails_saying(FAILED, "cuda:0: cuX: invalid argument (CUDA_ERROR_INVALID_VALUE)",
        cuda_check(device, CUDA_ERROR_INVALID_VALUE, "cuX"));
    assert_fails_saying(
        EXHAUSTED, "out of memory", cuda_check(device, CUDA_ERROR_OUT_OF_MEMORY, "cuX"));
    assert_fails_saying(FAILED, "unknown error", cuda_check(device, 12345, "cuX"));
    assert_false(atomic_load(&device->lost));
}

/* A spoiled context is lost for every call but those that give back. */
static void test_cuda_scope_does_not_enter_a_lost_device(void **state) {
    (void)state;
    OWN(Device, base) = cuda_device_fixture_get("");
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    DeviceMemory memory;
    uint64_t address, other;
    assert_ok(base->class_->alloc(base, NULL, 64, &address));
    assert_fails_saying(DEVICE_LOST, "CUDA_ERROR_ILLEGAL_ADDRESS",
        cuda_check(device, CUDA_ERROR_ILLEGAL_ADDRESS, "cuX"));
    assert_fails_saying(DEVICE_LOST, "cuda:0 is lost", cuda_scope_enter(device, &scope));
    assert_null(scope.api);
    assert_fails(DEVICE_LOST, base->class_->memory(base, &memory));
    assert_fails(DEVICE_LOST, base->class_->alloc(base, NULL, 64, &other));
    base->class_->free(base, NULL, address, 64);
}

int test_cuda_scope(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_check_tells_what_the_driver_calls_it),
        cmocka_unit_test(test_cuda_scope_does_not_enter_a_lost_device),
    };
    return cmocka_run_group_tests_name("cuda_scope", tests, NULL, NULL);
}
