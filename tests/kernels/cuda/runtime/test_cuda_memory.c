#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kernels/fixtures/cuda_device_fixture.h"

enum { SIZE = 100000 };

/* The fake driver's memory is full of garbage until somebody clears it. */
static void test_cuda_memory_is_zeroed_for_the_work_behind_it(void **state) {
    (void)state;
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", "500");
    OWN(Device, device) = cuda_device_fixture_get("");
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", NULL);
    DeviceStream *streams[] = {NULL, NULL};
    uint8_t *bytes = cuda_device_fixture_bytes(SIZE, 1);
    assert_ok(device->class_->stream_create(device, &streams[1]));
    for (int i = 0; i < 2; i++) {
        uint64_t address;
        assert_ok(device->class_->alloc(device, streams[i], SIZE, &address));
        assert_int_equal(address % DEVICE_ALIGNMENT, 0);
        assert_ok(device->class_->copy_to_host(device, streams[i], bytes, address, SIZE));
        for (int j = 0; j < SIZE; j++) assert_int_equal(bytes[j], 0);
        device->class_->free(device, streams[i], address, SIZE);
    }
    device->class_->stream_destroy(device, streams[1]);
    free(bytes);
}

static void test_cuda_memory_stays_within_the_specs_limit(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("memory=64KiB");
    DeviceMemory memory;
    uint64_t address, other;
    assert_ok(device->class_->memory(device, &memory));
    assert_int_equal(memory.total_bytes, 65536);
    assert_int_equal(memory.free_bytes, 65536);
    assert_ok(device->class_->alloc(device, NULL, 65000, &address));
    assert_fails_saying(EXHAUSTED, "cuda:0: 537 bytes of 65536, 65000 are in use",
        device->class_->alloc(device, NULL, 537, &other));
    assert_fails(EXHAUSTED, device->class_->alloc(device, NULL, UINT64_MAX, &other));
    assert_ok(device->class_->memory(device, &memory));
    assert_int_equal(memory.free_bytes, 536);
    device->class_->free(device, NULL, address, 65000);
    assert_ok(device->class_->alloc(device, NULL, 65536, &address));
    device->class_->free(device, NULL, address, 65536);
}

/* What is queued gives some back before the device says that it has none; then with the figures. */
static void test_cuda_memory_waits_for_what_is_being_given_back(void **state) {
    (void)state;
    cuda_device_fixture_set("FAKE_CUDA_MEMORY", "100000");
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", "2000");
    OWN(Device, device) = cuda_device_fixture_get("");
    OWN(Device, other) = cuda_device_fixture_get(""); /* of the same GPU */
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", NULL);
    cuda_device_fixture_set("FAKE_CUDA_MEMORY", NULL);
    DeviceStream *stream;
    uint64_t first, second, third;
    assert_ok(device->class_->stream_create(device, &stream));
    assert_ok(device->class_->alloc(device, stream, 60000, &first));
    device->class_->free(device, stream, first, 60000);
    assert_ok(device->class_->alloc(device, stream, 60000, &second));
    assert_fails_saying(EXHAUSTED, "cuda:0: 50000 bytes of 100000, 40000 are free",
        other->class_->alloc(other, NULL, 50000, &third));
    device->class_->free(device, stream, second, 60000);
    device->class_->stream_destroy(device, stream);
    assert_ok(other->class_->alloc(other, NULL, 50000, &third));
    other->class_->free(other, NULL, third, 50000);
}

/* That the fake device's addresses are not the host's is what the other tests build on. */
static void test_cuda_memory_of_the_fake_driver_cannot_be_read_by_the_host(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("");
    uint64_t address;
    int status = 0;
    assert_ok(device->class_->alloc(device, NULL, 64, &address));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL); /* cmocka's would go on with the tests */
        _exit(*(volatile uint8_t *)(uintptr_t)address & 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    device->class_->free(device, NULL, address, 64);
}

int test_cuda_memory(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_memory_is_zeroed_for_the_work_behind_it),
        cmocka_unit_test(test_cuda_memory_stays_within_the_specs_limit),
        cmocka_unit_test(test_cuda_memory_waits_for_what_is_being_given_back),
        cmocka_unit_test(test_cuda_memory_of_the_fake_driver_cannot_be_read_by_the_host),
    };
    return cmocka_run_group_tests_name("cuda_memory", tests, NULL, NULL);
}
