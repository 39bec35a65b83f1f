#include "kernels/cuda/runtime/cuda_staging.h"

#include "tests/kernels/fixtures/cuda_device_fixture.h"

/* What was queued with a slot is done before it may be written again. */
static void test_cuda_staging_gives_a_slot_again_when_it_is_free(void **state) {
    (void)state;
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", "3000");
    OWN(Device, base) = cuda_device_fixture_get("");
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", NULL);
    CudaDevice *device = cuda_device(base);
    CudaStagingSlot *slot, *first = NULL;
    uint64_t address;
    uint8_t byte;
    CUDA_SCOPE(scope);
    assert_ok(base->class_->alloc(base, NULL, 64, &address));
    assert_ok(cuda_scope_enter(device, &scope));
    for (int i = 0; i <= CUDA_STAGING_SMALL_COUNT; i++) {
        assert_ok(cuda_staging_take(device, device->staging, 1, &slot));
        assert_int_equal(slot->size, CUDA_STAGING_SMALL_BYTES);
        if (i == 0) first = slot;
        slot->bytes[0] = (uint8_t)(i + 1);
        if (i < CUDA_STAGING_SMALL_COUNT)
            assert_int_equal(scope.api->cuMemcpyHtoDAsync_v2(
                                 address + (uint64_t)i, slot->bytes, 1, device->idle),
                CUDA_SUCCESS);
        assert_ok(cuda_staging_give(device, slot, device->idle));
    }
    assert_ptr_equal(slot, first);
    assert_ok(base->class_->copy_to_host(base, NULL, &byte, address, 1));
    assert_int_equal(byte, 1);
    base->class_->free(base, NULL, address, 64);
}

static void test_cuda_staging_has_large_slots_for_large_pieces(void **state) {
    (void)state;
    OWN(Device, base) = cuda_device_fixture_get("");
    CudaDevice *device = cuda_device(base);
    CudaStagingSlot *one, *two;
    CUDA_SCOPE(scope);
    assert_ok(cuda_scope_enter(device, &scope));
    assert_ok(cuda_staging_take(device, device->staging, CUDA_STAGING_SMALL_BYTES + 1, &one));
    assert_ok(cuda_staging_take(device, device->staging, CUDA_STAGING_LARGE_BYTES, &two));
    assert_int_equal(one->size, CUDA_STAGING_LARGE_BYTES);
    assert_ptr_not_equal(one, two);
    assert_ok(cuda_staging_give(device, one, device->idle));
    assert_ok(cuda_staging_give(device, two, device->idle));
}

int test_cuda_staging(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_staging_gives_a_slot_again_when_it_is_free),
        cmocka_unit_test(test_cuda_staging_has_large_slots_for_large_pieces),
    };
    return cmocka_run_group_tests_name("cuda_staging", tests, NULL, NULL);
}
