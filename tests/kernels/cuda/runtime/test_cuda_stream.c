#include "tests/kernels/fixtures/cuda_device_fixture.h"

enum { SIZE = 4096, ROUNDS = 50, US_NS = 1000 };

/* A value goes through two streams, each waiting for the other's event before it goes on. */
static void test_cuda_stream_is_ordered_by_events(void **state) {
    (void)state;
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", "100");
    OWN(Device, device) = cuda_device_fixture_get("");
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", NULL);
    const DeviceClass *class_ = device->class_;
    DeviceStream *streams[2];
    DeviceEvent *events[2];
    uint64_t addresses[2];
    uint8_t bytes[SIZE];
    for (int i = 0; i < 2; i++) {
        assert_ok(class_->stream_create(device, &streams[i]));
        assert_ok(class_->event_create(device, &events[i]));
        assert_ok(class_->alloc(device, NULL, SIZE, &addresses[i]));
    }
    for (int round = 0; round < ROUNDS; round++) {
        memset(bytes, round + 1, SIZE);
        assert_ok(class_->copy_from_host(device, streams[0], addresses[0], bytes, SIZE));
        assert_ok(class_->event_record(device, events[0], streams[0]));
        assert_ok(class_->event_wait(device, events[0], streams[1]));
        assert_ok(class_->copy(device, streams[1], addresses[1], addresses[0], SIZE));
        assert_ok(class_->event_record(device, events[1], streams[1]));
        assert_ok(class_->event_wait(device, events[1], streams[0]));
        memset(bytes, 0, SIZE); /* the bytes were the caller's again long ago */
        assert_ok(class_->copy_from_host(device, streams[0], addresses[0], bytes, SIZE));
        assert_ok(class_->copy_to_host(device, streams[1], bytes, addresses[1], SIZE));
        for (int i = 0; i < SIZE; i++) assert_int_equal(bytes[i], round + 1);
    }
    for (int i = 0; i < 2; i++) {
        class_->free(device, streams[i], addresses[i], SIZE);
        class_->event_destroy(device, events[i]);
        class_->stream_destroy(device, streams[i]);
    }
}

static void test_cuda_event_measures_what_is_between(void **state) {
    (void)state;
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", "2000");
    OWN(Device, device) = cuda_device_fixture_get("");
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", NULL);
    const DeviceClass *class_ = device->class_;
    DeviceStream *stream;
    DeviceEvent *from, *to;
    uint64_t elapsed_ns;
    assert_ok(class_->stream_create(device, &stream));
    assert_ok(class_->event_create(device, &from));
    assert_ok(class_->event_create(device, &to));
    assert_ok(class_->event_record(device, from, stream));
    assert_ok(class_->event_record(device, to, stream));
    assert_ok(class_->event_synchronize(device, from));
    assert_ok(class_->event_elapsed(device, from, to, &elapsed_ns));
    assert_true(elapsed_ns >= 2000 * US_NS);
    class_->event_destroy(device, from);
    class_->event_destroy(device, to);
    class_->stream_destroy(device, stream);
}

/* A copy beyond its allocation is found when it runs: the next call that waits is told, all others
 * from then on. */
static void test_cuda_stream_tells_what_failed_behind_the_callers_back(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("");
    const DeviceClass *class_ = device->class_;
    DeviceStream *stream;
    DeviceEvent *event;
    uint64_t address;
    assert_ok(class_->stream_create(device, &stream));
    assert_ok(class_->event_create(device, &event));
    assert_ok(class_->alloc(device, stream, SIZE, &address));
    assert_ok(class_->copy(device, stream, address + 1, address, SIZE));
    assert_fails_saying(
        DEVICE_LOST, "illegal memory access", class_->stream_synchronize(device, stream));
    assert_fails_saying(DEVICE_LOST, "cuda:0 is lost", class_->event_record(device, event, stream));
    class_->free(device, stream, address, SIZE);
    class_->event_destroy(device, event);
    class_->stream_destroy(device, stream);
}

int test_cuda_stream(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_stream_is_ordered_by_events),
        cmocka_unit_test(test_cuda_event_measures_what_is_between),
        cmocka_unit_test(test_cuda_stream_tells_what_failed_behind_the_callers_back),
    };
    return cmocka_run_group_tests_name("cuda_stream", tests, NULL, NULL);
}
