#include <stdlib.h>

#include "kernels/registry/device_registry.h"
#include "kernels/plugin/plugin.h"
#include "tests/support/test_support.h"

/* The library that is installed, over the driver without a GPU: seen from here it is a device like
 * all others. */
static void test_cuda_plugin_is_found_by_its_kind(void **state) {
    (void)state;
    const DeviceClass *class_ = NULL;
    OWN(Device, device) = NULL;
    uint64_t address;
    assert_ok(plugin_load("cuda", &class_));
    assert_string_equal(class_->kind, "cuda");
    assert_int_equal(device_count("cuda"), 2);
    assert_ok(device_open("cuda:1,memory=1MiB", &device));
    assert_string_equal(device->name, "cuda:1");
    assert_ok(device->class_->alloc(device, NULL, 1 << 20, &address));
    device->class_->free(device, NULL, address, 1 << 20);
}

/* Errors are made on one side of the border and freed on the other. */
static void test_cuda_plugin_says_why_it_cannot(void **state) {
    (void)state;
    Device *device = NULL;
    assert_fails_saying(UNSUPPORTED, "device \"cuda:7\": this machine has 2 NVIDIA GPUs",
        device_open("cuda:7", &device));
    assert_int_equal(setenv("FAKE_CUDA_DEVICES", "0", 1), 0);
    assert_fails_saying(UNSUPPORTED, "no NVIDIA GPU on this machine", device_open("cuda", &device));
    assert_int_equal(device_count("cuda"), 0);
    assert_int_equal(unsetenv("FAKE_CUDA_DEVICES"), 0);
}

int test_cuda_plugin(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_plugin_is_found_by_its_kind),
        cmocka_unit_test(test_cuda_plugin_says_why_it_cannot),
    };
    return cmocka_run_group_tests_name("cuda_plugin", tests, NULL, NULL);
}
