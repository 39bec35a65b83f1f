#include "kernels/cuda/runtime/cuda_operands.h"

#include <stdlib.h>

#include "tests/kernels/fixtures/cuda_device_fixture.h"

enum { SIZE = 40, BLOCK = 256 };

static void test_cuda_operands_stay_where_they_fit(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("");
    CudaOperands operands = {.device = device};
    uint64_t at = 0;
    assert_ok(cuda_operands_align(&operands, 1 << 20, SIZE, &at));
    assert_int_equal(at, 1 << 20);
    assert_int_equal(operands.count, 0);
}

static void test_cuda_operands_at_odd_addresses_are_copied(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("");
    CudaOperands operands = {.device = device};
    uint64_t memory, at = 0;
    uint8_t *bytes = cuda_device_fixture_bytes(SIZE, 1), back[SIZE];
    assert_ok(device->class_->alloc(device, NULL, BLOCK, &memory));
    assert_ok(device->class_->copy_from_host(device, NULL, memory + 4, bytes, SIZE));
    assert_ok(cuda_operands_align(&operands, memory + 4, SIZE, &at));
    assert_true(cuda_operands_fit(at));
    assert_int_not_equal(at, memory);
    assert_ok(device->class_->copy_to_host(device, NULL, back, at, SIZE));
    assert_memory_equal(back, bytes, SIZE);
    cuda_operands_free(&operands);
    device->class_->free(device, NULL, memory, BLOCK);
    assert_int_equal(atomic_load(&cuda_device(device)->used_bytes), 0);
    free(bytes);
}

static void test_cuda_operands_name_memory_that_is_not_there(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("memory=1MiB");
    CudaOperands operands = {.device = device};
    uint64_t at = 0;
    assert_fails_saying(OUT_OF_MEMORY, "bytes of", cuda_operands_align(&operands, 4, 2 << 20, &at));
    assert_int_equal(operands.count, 0);
    cuda_operands_free(&operands);
}

int test_cuda_operands(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_operands_stay_where_they_fit),
        cmocka_unit_test(test_cuda_operands_at_odd_addresses_are_copied),
        cmocka_unit_test(test_cuda_operands_name_memory_that_is_not_there),
    };
    return cmocka_run_group_tests_name("cuda_operands", tests, NULL, NULL);
}
