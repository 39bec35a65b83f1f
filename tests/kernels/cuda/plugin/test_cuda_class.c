#include "kernels/cuda/plugin/cuda_class.h"

#include "tests/kernels/fixtures/cuda_device_fixture.h"

static void test_cuda_class_names_a_determinism_class_of_its_own(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("");
    OWN(Device, rounding) = cuda_device_fixture_get("tf32=on");
    TextBuilder OWN_TEXT(text) = {0};
    TextBuilder OWN_TEXT(other) = {0};
    device->class_->determinism_class(device, &text);
    rounding->class_->determinism_class(rounding, &other);
    assert_non_null(strstr(text_builder_get(&text), "Fake GPU SM 9.0"));
    assert_string_not_equal(text_builder_get(&text), text_builder_get(&other));
}

static void test_cuda_class_counts_the_devices_that_would_open(void **state) {
    (void)state;
    assert_int_equal(cuda_device_class.count(), 2);
    cuda_device_fixture_set("FAKE_CUDA_DEVICES", "0");
    assert_int_equal(cuda_device_class.count(), 0);
    cuda_device_fixture_set("FAKE_CUDA_DEVICES", NULL);
    cuda_device_fixture_set("FAKE_CUDA_VERSION", "11040");
    assert_int_equal(cuda_device_class.count(), 0);
    cuda_device_fixture_set("FAKE_CUDA_VERSION", NULL);
    assert_int_equal(cuda_device_class.count(), 2);
}

/* The name is the kind that it was asked for by, and the index. */
static void test_cuda_class_opens_by_index_and_reads_options(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    Device *refused = NULL;
    assert_ok(cuda_device_class.open("cuda", 1, "", &device));
    assert_string_equal(device->name, "cuda:1");
    assert_non_null(device->class_->kernels(device)[0]);
    assert_fails_saying(
        USAGE, "no option \"speed\"", cuda_device_class.open("cuda", 0, "speed=2", &refused));
    assert_null(refused);
}

int test_cuda_class(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_class_names_a_determinism_class_of_its_own),
        cmocka_unit_test(test_cuda_class_counts_the_devices_that_would_open),
        cmocka_unit_test(test_cuda_class_opens_by_index_and_reads_options),
    };
    return cmocka_run_group_tests_name("cuda_class", tests, NULL, NULL);
}
