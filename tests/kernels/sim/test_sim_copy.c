#include "kernels/device/device.h"
#include "kernels/registry/device_registry.h"
#include "tests/support/test_support.h"

enum { SIZE = 200000 }; /* more than is staged */

static uint8_t sent[SIZE], received[SIZE];

/* The source may be overwritten as soon as the call is back, however late the copy runs. */
static void test_sim_copy_has_taken_the_host_bytes_when_it_returns(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1, 64, 65536, 65537, SIZE};
    OWN(Device, device) = NULL;
    DeviceStream *stream;
    uint64_t address;
    assert_ok(device_open("sim:0,lag=2000", &device));
    const DeviceClass *class_ = device->class_;
    assert_ok(device_stream_create(device, &stream));
    assert_ok(class_->alloc(device, stream, SIZE, &address));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        memset(sent, (int)i + 1, sizes[i]);
        assert_ok(class_->copy_from_host(device, stream, address, sent, sizes[i]));
        memset(sent, 0xEE, sizes[i]);
        assert_ok(class_->copy_to_host(device, stream, received, address, sizes[i]));
        for (uint64_t at = 0; at < sizes[i]; at++) assert_int_equal(received[at], i + 1);
    }
    class_->free(device, stream, address, SIZE);
    device_stream_destroy(device, stream);
}

/* Without a wait a second stream reads what was there before; with an event what comes. */
static void test_sim_copy_of_another_stream_needs_an_event(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    DeviceStream *writer, *reader;
    DeviceEvent *event;
    uint64_t address, elapsed_ns;
    uint8_t byte = 7;
    assert_ok(device_open("sim:0,lag=50000", &device));
    const DeviceClass *class_ = device->class_;
    assert_ok(device_stream_create(device, &writer));
    assert_ok(device_stream_create(device, &reader));
    assert_ok(class_->event_create(device, &event));
    assert_ok(class_->alloc(device, writer, 1, &address));
    assert_ok(class_->copy_from_host(device, writer, address, &byte, 1));
    assert_ok(class_->event_record(device, event, writer));
    byte = 9;
    assert_ok(class_->copy_to_host(device, reader, &byte, address, 1));
    assert_int_equal(byte, 0);
    assert_ok(class_->event_wait(device, event, reader));
    assert_ok(class_->copy_to_host(device, reader, &byte, address, 1));
    assert_int_equal(byte, 7);
    assert_ok(class_->event_elapsed(device, event, event, &elapsed_ns));
    assert_int_equal(elapsed_ns, 0);
    class_->free(device, writer, address, 1);
    class_->event_destroy(device, event);
    device_stream_destroy(device, writer);
    device_stream_destroy(device, reader);
}

/* Memory given back behind a copy that is queued is there until the copy has run. */
static void test_sim_copy_runs_before_a_free_that_follows(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    DeviceStream *stream;
    uint64_t from, to;
    uint8_t byte = 5;
    assert_ok(device_open("sim:0,lag=2000,memory=256", &device));
    const DeviceClass *class_ = device->class_;
    assert_ok(device_stream_create(device, &stream));
    assert_ok(class_->alloc(device, stream, 128, &from));
    assert_ok(class_->alloc(device, stream, 128, &to));
    assert_ok(class_->copy_from_host(device, stream, from, &byte, 1));
    assert_ok(class_->copy(device, stream, to, from, 1));
    class_->free(device, stream, from, 128);
    /* and there is room for another one behind it */
    assert_ok(class_->alloc(device, stream, 128, &from));
    byte = 0;
    assert_ok(class_->copy_to_host(device, stream, &byte, to, 1));
    assert_int_equal(byte, 5);
    class_->free(device, stream, from, 128);
    class_->free(device, stream, to, 128);
    device_stream_destroy(device, stream);
}

int test_sim_copy(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_copy_has_taken_the_host_bytes_when_it_returns),
        cmocka_unit_test(test_sim_copy_of_another_stream_needs_an_event),
        cmocka_unit_test(test_sim_copy_runs_before_a_free_that_follows),
    };
    return cmocka_run_group_tests_name("sim_copy", tests, NULL, NULL);
}
