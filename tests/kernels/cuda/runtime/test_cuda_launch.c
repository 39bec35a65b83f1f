#include "kernels/cuda/runtime/cuda_launch.h"

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/cuda_device_fixture.h"
#include "tests/kernels/fixtures/infer_fixture.h"

enum { COUNT = 1000, SIZE = COUNT * sizeof(float) };

/* Neg over COUNT numbers, queued; the result is not waited for. */
static Error *launch_negation(Device *device, DeviceStream *stream, uint64_t address) {
    InferFixture fixture;
    OWN(Plan, plan) = NULL;
    infer_fixture_init(&fixture, "Neg", NULL, "float32[1000]", 1);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(device->class_->plan(device, &fixture.request, &plan));
    assert_true(strncmp(plan->kernel_name, "cuda.", 5) == 0);
    Launch launch = {.inputs = &address, .outputs = &address, .stream = stream, .threads = 1};
    Error *error = plan->launch(plan, &launch, &plan->outputs[0].shape);
    infer_fixture_deinit(&fixture);
    return error;
}

/* Behind the copy to it and before the copy from it, with and without a stream. */
static void test_cuda_launch_runs_in_the_order_of_its_stream(void **state) {
    (void)state;
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", "500");
    OWN(Device, device) = cuda_device_fixture_get("");
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", NULL);
    const DeviceClass *class_ = device->class_;
    DeviceStream *streams[] = {NULL, NULL};
    float numbers[COUNT];
    uint64_t address;
    assert_ok(class_->stream_create(device, &streams[1]));
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < COUNT; j++) numbers[j] = (float)j;
        assert_ok(class_->alloc(device, streams[i], SIZE, &address));
        assert_ok(class_->copy_from_host(device, streams[i], address, numbers, SIZE));
        assert_ok(launch_negation(device, streams[i], address));
        assert_ok(class_->copy_to_host(device, streams[i], numbers, address, SIZE));
        for (int j = 0; j < COUNT; j++) assert_true(numbers[j] == -(float)j);
        class_->free(device, streams[i], address, SIZE);
    }
    class_->stream_destroy(device, streams[1]);
}

/* What runs behind it is told, and a device opened when the lost one is closed works again. */
static void test_cuda_launch_that_fails_takes_the_device_along(void **state) {
    (void)state;
    cuda_device_fixture_set("FAKE_CUDA_LOSE_AFTER", "3");
    Device *device = cuda_device_fixture_get("");
    cuda_device_fixture_set("FAKE_CUDA_LOSE_AFTER", NULL);
    DeviceStream *stream;
    uint64_t address;
    float number;
    assert_ok(device->class_->stream_create(device, &stream));
    assert_ok(device->class_->alloc(device, stream, SIZE, &address));
    assert_ok(launch_negation(device, stream, address));
    assert_ok(launch_negation(device, stream, address));
    assert_ok(launch_negation(device, stream, address)); /* queued */
    assert_fails_saying(DEVICE_LOST, "unspecified launch failure",
        device->class_->copy_to_host(device, stream, &number, address, sizeof number));
    assert_fails_saying(DEVICE_LOST, "cuda:0 is lost", launch_negation(device, stream, address));
    device->class_->free(device, stream, address, SIZE);
    device->class_->stream_destroy(device, stream);
    device_close(device);
    device = cuda_device_fixture_get("");
    assert_ok(device->class_->alloc(device, NULL, SIZE, &address));
    assert_ok(launch_negation(device, NULL, address));
    device->class_->free(device, NULL, address, SIZE);
    device_close(device);
}

int test_cuda_launch(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_launch_runs_in_the_order_of_its_stream),
        cmocka_unit_test(test_cuda_launch_that_fails_takes_the_device_along),
    };
    return cmocka_run_group_tests_name("cuda_launch", tests, NULL, NULL);
}
