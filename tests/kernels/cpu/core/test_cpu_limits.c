#include "kernels/cpu/core/cpu_limits.h"

#include "kernels/registry/device_registry.h"
#include "tests/kernels/fixtures/kernel_call.h"

/* How fast is not asked: only that both were measured, on the threads that there are. */
static void test_cpu_limits_are_measured_on_the_devices_threads(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    CpuLimits limits;
    assert_ok(device_open("cpu:threads=2", &device));
    assert_ok(cpu_limits_measure(device, 8, &limits));
    assert_int_equal(limits.threads, 2);
    assert_true(limits.operations_per_ns > 0 && limits.operations_per_ns < 1e6);
    assert_true(limits.bytes_per_ns > 0 && limits.bytes_per_ns < 1e6);
}

int test_cpu_limits(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_limits_are_measured_on_the_devices_threads),
    };
    return cmocka_run_group_tests_name("cpu_limits", tests, NULL, NULL);
}
