#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "kernels/device/device.h"
#include "kernels/registry/device_registry.h"
#include "tests/support/test_support.h"

enum { STREAMS = 6, ROUNDS = 300, LAG_MS = 20 };

static void write_u32(Device *device, DeviceStream *stream, uint64_t to, uint32_t value) {
    assert_ok(device->class_->copy_from_host(device, stream, to, &value, sizeof value));
}

static uint32_t read_u32(Device *device, DeviceStream *stream, uint64_t from) {
    uint32_t value;
    assert_ok(device->class_->copy_to_host(device, stream, &value, from, sizeof value));
    return value;
}

/* A number is handed on from stream to stream, each behind an event of the one before: without the
 * events it would be behind by far, since all of this is only posted. */
static void test_process_stream_events_order_what_is_posted(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    DeviceStream *streams[STREAMS];
    DeviceEvent *events[STREAMS];
    uint64_t address;
    assert_ok(device_open("sim:0,lag=50,worker=process", &device));
    const DeviceClass *class_ = device->class_;
    assert_ok(class_->alloc(device, NULL, (STREAMS + 1) * 64, &address));
    for (int i = 0; i < STREAMS; i++) {
        assert_ok(class_->stream_create(device, &streams[i]));
        assert_ok(class_->event_create(device, &events[i]));
    }
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        int last = STREAMS - 1;
        if (round > 1) assert_ok(class_->event_wait(device, events[last], streams[0]));
        write_u32(device, streams[0], address, round);
        for (int i = 0; i < STREAMS; i++) {
            if (i > 0) assert_ok(class_->event_wait(device, events[i - 1], streams[i]));
            uint64_t from = address + (uint64_t)i * 64;
            assert_ok(class_->copy(device, streams[i], from + 64, from, 4));
            assert_ok(class_->event_record(device, events[i], streams[i]));
        }
        if (round % 50 == 0) {
            assert_ok(class_->event_synchronize(device, events[last]));
            assert_int_equal(read_u32(device, streams[last], address + STREAMS * 64), round);
        }
    }
    for (int i = 0; i < STREAMS; i++) { /* some of it still posted */
        class_->event_destroy(device, events[i]);
        class_->stream_destroy(device, streams[i]);
    }
    class_->free(device, NULL, address, (STREAMS + 1) * 64);
}

typedef struct Slow {
    Device *device;
    uint64_t address;
    atomic_bool begun, done;
} Slow;

/* Its copy takes a second over that link. */
static void *copy_slowly(void *argument) {
    static uint8_t bytes[1 << 20];
    Slow *slow = argument;
    DeviceStream *stream;
    assert_ok(slow->device->class_->stream_create(slow->device, &stream));
    atomic_store(&slow->begun, true);
    assert_ok(slow->device->class_->copy_from_host(
        slow->device, stream, slow->address, bytes, sizeof bytes));
    assert_ok(slow->device->class_->stream_synchronize(slow->device, stream));
    atomic_store(&slow->done, true);
    slow->device->class_->stream_destroy(slow->device, stream);
    return NULL;
}

static void test_process_stream_waits_for_no_other(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    DeviceStream *stream;
    DeviceMemory memory;
    pthread_t thread;
    assert_ok(device_open("sim:0,bandwidth=1MiB,worker=process", &device));
    const DeviceClass *class_ = device->class_;
    Slow slow = {.device = device};
    assert_ok(class_->alloc(device, NULL, (1 << 20) + 128, &slow.address));
    uint64_t rest = slow.address + (1 << 20);
    assert_int_equal(pthread_create(&thread, NULL, copy_slowly, &slow), 0);
    while (!atomic_load(&slow.begun)) continue;
    for (int i = 0; i < 20; i++) {
        assert_ok(class_->stream_create(device, &stream));
        assert_ok(class_->copy(device, stream, rest, rest + 64, 64));
        assert_ok(class_->stream_synchronize(device, stream));
        assert_ok(class_->memory(device, &memory));
        class_->stream_destroy(device, stream);
    }
    assert_false(atomic_load(&slow.done));
    assert_int_equal(pthread_join(thread, NULL), 0);
    class_->free(device, NULL, slow.address, (1 << 20) + 128);
}

static void test_process_stream_posting_does_not_wait(void **state) {
    (void)state;
    enum { COPIES = 10 };
    OWN(Device, device) = NULL;
    DeviceStream *stream;
    DeviceEvent *from, *to;
    uint64_t address, ns = 0;
    char spec[64];
    (void)snprintf(spec, sizeof spec, "sim:0,lag=%d,worker=process", LAG_MS * 1000);
    assert_ok(device_open(spec, &device));
    const DeviceClass *class_ = device->class_;
    assert_ok(class_->alloc(device, NULL, 64, &address));
    assert_ok(class_->stream_create(device, &stream));
    assert_ok(class_->event_create(device, &from));
    assert_ok(class_->event_create(device, &to));
    uint64_t start_ns = clock_now_ns(clock_real());
    assert_ok(class_->event_record(device, from, stream));
    for (uint32_t i = 0; i < COPIES; i++) write_u32(device, stream, address, i);
    assert_ok(class_->event_record(device, to, stream));
    class_->free(device, stream, address, 64);
    assert_ok(class_->event_elapsed(device, from, to, &ns));
    assert_true(clock_now_ns(clock_real()) - start_ns >= LAG_MS * MILLISECOND_NS);
    assert_true(ns < 60000 * MILLISECOND_NS);
    class_->event_destroy(device, from);
    class_->event_destroy(device, to);
    class_->stream_destroy(device, stream);
}

/* An event outlives the stream that it was recorded on, whose channel is another's by then. */
static void test_process_stream_may_end_before_its_event(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    DeviceStream *stream, *other;
    DeviceEvent *event;
    assert_ok(device_open("sim:0,worker=process", &device));
    const DeviceClass *class_ = device->class_;
    assert_ok(class_->stream_create(device, &stream));
    assert_ok(class_->event_create(device, &event));
    assert_ok(class_->event_synchronize(device, event)); /* nothing was recorded */
    assert_ok(class_->event_record(device, event, stream));
    class_->stream_destroy(device, stream);
    assert_ok(class_->stream_create(device, &other));
    assert_ok(class_->event_synchronize(device, event));
    assert_ok(class_->event_wait(device, event, other));
    assert_ok(class_->stream_synchronize(device, other));
    class_->event_destroy(device, event);
    class_->stream_destroy(device, other);
}

int test_process_stream(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_stream_events_order_what_is_posted),
        cmocka_unit_test(test_process_stream_waits_for_no_other),
        cmocka_unit_test(test_process_stream_posting_does_not_wait),
        cmocka_unit_test(test_process_stream_may_end_before_its_event),
    };
    return cmocka_run_group_tests_name("process_stream", tests, NULL, NULL);
}
