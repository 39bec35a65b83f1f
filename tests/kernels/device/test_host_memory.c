#include "kernels/device/host_memory.h"

#include "kernels/device/device.h"
#include "tests/support/test_support.h"

static void test_host_memory_is_zero_and_aligned(void **state) {
    (void)state;
    static const uint64_t sizes[] = {
        1, 63, 64, 65, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (5 << 20) + 3};
    Device *host = device_host();
    const size_t count = sizeof sizes / sizeof sizes[0];
    for (size_t i = 0; i < 2 * count; i++) { /* again: what was written and given back is gone */
        uint64_t address, size = sizes[i % count];
        assert_ok(host_memory_alloc(host, NULL, size, &address));
        assert_int_equal(address % DEVICE_ALIGNMENT, 0);
        const uint8_t *bytes = (const uint8_t *)(uintptr_t)address;
        for (uint64_t j = 0; j < size; j += 61) assert_int_equal(bytes[j], 0);
        assert_int_equal(bytes[size - 1], 0);
        memset((void *)(uintptr_t)address, 0xff, size);
        host_memory_free(host, NULL, address, size);
    }
    host_memory_free(host, NULL, 0, 0);
}

static void test_host_memory_beyond_the_machine_is_exhausted(void **state) {
    (void)state;
    uint64_t address = 7;
    assert_fails(EXHAUSTED, host_memory_alloc(device_host(), NULL, UINT64_C(1) << 60, &address));
    assert_int_equal(address, 7);
}

static void test_host_memory_info_is_plausible(void **state) {
    (void)state;
    DeviceMemory memory;
    assert_ok(host_memory_info(device_host(), &memory));
    assert_true(memory.total_bytes >= memory.free_bytes);
    assert_true(memory.free_bytes > 1 << 20);
}

static void test_host_memory_copies_may_overlap(void **state) {
    (void)state;
    char text[] = "0123456789";
    uint64_t address = (uint64_t)(uintptr_t)text;
    assert_ok(host_memory_copy(device_host(), NULL, address + 2, address, 8));
    assert_string_equal(text, "0101234567");
}

int test_host_memory(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_memory_is_zero_and_aligned),
        cmocka_unit_test(test_host_memory_beyond_the_machine_is_exhausted),
        cmocka_unit_test(test_host_memory_info_is_plausible),
        cmocka_unit_test(test_host_memory_copies_may_overlap),
    };
    return cmocka_run_group_tests_name("host_memory", tests, NULL, NULL);
}
