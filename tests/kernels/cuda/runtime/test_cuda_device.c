#include "kernels/cuda/plugin/cuda_class.h"
#include "tests/kernels/fixtures/cuda_device_fixture.h"

static void test_cuda_device_says_why_it_does_not_open(void **state) {
    (void)state;
    Device *device = NULL;
    assert_fails_saying(UNSUPPORTED, "this machine has 2 NVIDIA GPUs, of which the last is cuda:1",
        cuda_device_class.open("cuda", 2, "", &device));
    cuda_device_fixture_set("FAKE_CUDA_DEVICES", "0");
    assert_fails_saying(
        UNSUPPORTED, "no NVIDIA GPU on this machine", cuda_device_fixture_open("", &device));
    cuda_device_fixture_set("FAKE_CUDA_DEVICES", NULL);
    cuda_device_fixture_set("FAKE_CUDA_VERSION", "11040");
    assert_fails_saying(UNSUPPORTED,
        "the NVIDIA driver is for CUDA 11.4, this needs one for CUDA 12.0",
        cuda_device_fixture_open("", &device));
    cuda_device_fixture_set("FAKE_CUDA_VERSION", NULL);
    assert_null(device);
}

/* Two devices have each its own memory and context; neither stays current in the thread. */
static void test_cuda_device_leaves_no_context_behind(void **state) {
    (void)state;
    OWN(Device, one) = cuda_device_fixture_get("");
    OWN(Device, two) = NULL;
    uint64_t of_one, of_two;
    CUcontext context;
    assert_ok(cuda_device_class.open("cuda", 1, "", &two));
    assert_ok(one->class_->alloc(one, NULL, 100, &of_one));
    assert_ok(two->class_->alloc(two, NULL, 100, &of_two));
    assert_ok(one->class_->copy(one, NULL, of_one, of_one + 50, 50));
    assert_int_not_equal(cuda_symbols_get()->cuCtxPopCurrent_v2(&context), CUDA_SUCCESS);
    one->class_->free(one, NULL, of_one, 100);
    two->class_->free(two, NULL, of_two, 100);
}

int test_cuda_device(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_device_says_why_it_does_not_open),
        cmocka_unit_test(test_cuda_device_leaves_no_context_behind),
    };
    return cmocka_run_group_tests_name("cuda_device", tests, NULL, NULL);
}
