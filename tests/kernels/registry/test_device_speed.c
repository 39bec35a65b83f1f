#include "kernels/registry/device_speed.h"

#include "kernels/registry/device_registry.h"
#include "tests/support/test_support.h"

static uint64_t speed_of(const char *spec) {
    OWN(Device, device) = NULL;
    uint64_t speed = 0;
    assert_ok(device_open(spec, &device));
    assert_ok(device_speed_measure(device, &speed));
    assert_in_range(speed, 1, DEVICE_SPEED_MAX);
    assert_int_equal(speed & (speed - 1), 0);
    return speed;
}

/* Kernels of the slow ones wait for so long that no noise could turn them round. */
static void test_device_speed_orders_devices(void **state) {
    (void)state;
    uint64_t cpu = speed_of("cpu"), slow = speed_of("sim:0,speed=0.01");
    uint64_t slower = speed_of("sim:1,speed=0.0005");
    assert_true(cpu > slow);
    assert_true(slow > slower);
}

static void test_device_speed_makes_do_with_little_memory(void **state) {
    (void)state;
    assert_int_equal(speed_of("sim:0,memory=4KiB"), 1);
    assert_true(speed_of("sim:0,memory=64KiB") > 1);
}

static void test_device_speed_gives_its_memory_back_and_says_what_failed(void **state) {
    (void)state;
    static const char *const specs[] = {
        "sim:0,fail-launch=2", "sim:0,lose-after=3", "sim:0,fail-launch=9"};
    for (size_t i = 0; i < 3; i++) {
        OWN(Device, device) = NULL;
        DeviceMemory memory;
        uint64_t speed;
        assert_ok(device_open(specs[i], &device));
        Error *error = device_speed_measure(device, &speed);
        assert_int_equal(error_code(error), i == 1 ? ERROR_DEVICE_LOST : ERROR_FAILED);
        error_free(error);
        if (i == 1) continue;
        assert_ok(device->class_->memory(device, &memory));
        assert_int_equal(memory.free_bytes, memory.total_bytes);
    }
}

int test_device_speed(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_speed_orders_devices),
        cmocka_unit_test(test_device_speed_makes_do_with_little_memory),
        cmocka_unit_test(test_device_speed_gives_its_memory_back_and_says_what_failed),
    };
    return cmocka_run_group_tests_name("device_speed", tests, NULL, NULL);
}
