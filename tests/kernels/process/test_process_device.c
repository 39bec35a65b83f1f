#include "kernels/process/process_device.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>

#include "kernels/registry/device_registry.h"
#include "kernels/process/process_child.h"
#include "kernels/process/process_internal.h"
#include "tests/kernels/fixtures/device_refusal.h"
#include "tests/support/device_call.h"
#include "tests/support/test_support.h"

static const char spec[] = "sim:3,memory=64MiB,worker=process";

static void test_process_device_looks_as_if_it_were_here(void **state) {
    (void)state;
    OWN(Device, here) = NULL;
    OWN(Device, there) = NULL;
    TextBuilder OWN_TEXT(one) = {0};
    TextBuilder OWN_TEXT(other) = {0};
    DeviceMemory memory;
    assert_ok(device_open("sim:3,memory=64MiB", &here));
    assert_ok(device_open(spec, &there));
    assert_string_equal(there->name, "sim:3");
    assert_string_equal(there->class_->kind, "sim");
    assert_int_equal(there->index, 3);
    assert_false(there->class_->host_memory);
    here->class_->determinism_class(here, &one);
    there->class_->determinism_class(there, &other);
    assert_string_equal(text_builder_get(&one), text_builder_get(&other));
    assert_ok(there->class_->memory(there, &memory));
    assert_int_equal(memory.total_bytes, 64 << 20);
    assert_int_equal(memory.free_bytes, 64 << 20);
}

static void test_process_device_open_says_what_is_wrong(void **state) {
    (void)state;
    static const DeviceRefusal rows[] = {
        {ERROR_USAGE, "cpu,worker=process", "its memory is the host's"},
        {ERROR_USAGE, "cpu:threads=2,worker=process", "its memory is the host's"},
        {ERROR_USAGE, "sim:0,worker=", "worker="},
        {ERROR_USAGE, "sim:0,worker=processes", "neither process nor none"},
        {ERROR_USAGE, "sim:0,worker=process,memory=x", "is not a size"},
        {ERROR_USAGE, "sim:0,worker=process,memory", "is not name=value"},
    };
    device_refusals_check(rows, sizeof rows / sizeof rows[0]);
    OWN(Device, device) = NULL;
    assert_ok(device_open("sim:1,worker=none,memory=1MiB", &device));
    assert_string_equal(device->name, "sim:1");
}

/* Sizes around those of a record, at odd addresses. */
static void test_process_device_copies_any_size(void **state) {
    (void)state;
    enum { MAX = RING_PAYLOAD_MAX * 3 + 9 };
    static const uint64_t sizes[] = {
        0, 1, 4096, RING_PAYLOAD_MAX - 4096, RING_PAYLOAD_MAX - 4095, RING_PAYLOAD_MAX, MAX};
    static uint8_t sent[MAX], received[MAX];
    OWN(Device, device) = NULL;
    uint64_t address, other, seed = 3;
    DeviceStream *stream;
    for (size_t i = 0; i < MAX; i++) sent[i] = (uint8_t)test_random(&seed);
    assert_ok(device_open(spec, &device));
    const DeviceClass *class_ = device->class_;
    assert_ok(class_->stream_create(device, &stream));
    for (int with_stream = 0; with_stream < 2; with_stream++) {
        DeviceStream *on = with_stream ? stream : NULL;
        assert_ok(class_->alloc(device, on, MAX + 64, &address));
        assert_ok(class_->alloc(device, on, MAX + 64, &other));
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            memset(received, 0, MAX);
            assert_ok(class_->copy_from_host(device, on, address + i, sent, sizes[i]));
            assert_ok(class_->copy(device, on, other + 1, address + i, sizes[i]));
            assert_ok(class_->copy_to_host(device, on, received, other + 1, sizes[i]));
            assert_memory_equal(received, sent, sizes[i]);
        }
        assert_fails(INTERNAL, class_->copy_to_host(device, on, received, 64, 64));
        class_->free(device, on, address, MAX + 64);
        class_->free(device, on, other, MAX + 64);
    }
    class_->stream_destroy(device, stream);
}

/* What one stream gave back is there for another, although nobody waited. */
static void test_process_device_memory_comes_back_across_streams(void **state) {
    (void)state;
    enum { ROUNDS = 200, ALL = 64 << 20 };
    OWN(Device, device) = NULL;
    DeviceStream *streams[2];
    uint64_t address;
    assert_ok(device_open(spec, &device));
    const DeviceClass *class_ = device->class_;
    for (int i = 0; i < 2; i++) assert_ok(class_->stream_create(device, &streams[i]));
    for (int i = 0; i < ROUNDS; i++) {
        assert_ok(class_->alloc(device, streams[i % 2], ALL, &address));
        class_->free(device, streams[i % 2], address, ALL);
    }
    assert_ok(class_->alloc(device, NULL, ALL, &address));
    assert_fails(EXHAUSTED, class_->alloc(device, streams[0], 64, &address));
    for (int i = 0; i < 2; i++) class_->stream_destroy(device, streams[i]);
}

/* ---- a worker that dies ---- */

static void kill_worker(Device *device) { process_child_kill(process_device(device)->child); }

static Error *add_once(Device *device) {
    static const double values[] = {1, 2, 3};
    DeviceCall call = {.device = device, .operator_name = "Relu", .input_count = 1};
    Tensor *output = NULL;
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, values, 1, 3);
    Error *error = device_call_run(&call, &output, NULL);
    tensor_release(call.inputs[0]);
    tensor_release(output);
    return error;
}

/* A stream wants a channel of its own: whether its worker has just closed the socket or its end is
 * known already, the news is how it ended. */
static void test_process_device_says_how_its_worker_ended(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        OWN(Device, device) = NULL;
        DeviceStream *stream;
        assert_ok(device_open(spec, &device));
        kill_worker(device);
        assert_fails_saying(DEVICE_LOST, "sim:3 is lost: its worker process was ended by signal 9",
            device->class_->stream_create(device, &stream));
    }
}

static void test_process_device_is_lost_with_its_worker(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    DeviceStream *stream, *other;
    DeviceEvent *event;
    DeviceMemory memory;
    uint64_t address, number;
    assert_ok(device_open(spec, &device));
    const DeviceClass *class_ = device->class_;
    assert_ok(add_once(device));
    assert_ok(class_->stream_create(device, &stream));
    assert_ok(class_->event_create(device, &event));
    assert_ok(class_->event_record(device, event, stream));
    assert_ok(class_->alloc(device, stream, 64, &address));
    kill_worker(device);
    assert_fails_saying(DEVICE_LOST, "sim:3 is lost: its worker process was ended by signal 9",
        class_->stream_synchronize(device, stream));
    assert_fails(DEVICE_LOST, class_->memory(device, &memory));
    assert_fails(DEVICE_LOST, class_->stream_create(device, &other));
    assert_fails(DEVICE_LOST, class_->alloc(device, stream, 64, &number));
    assert_fails(DEVICE_LOST, class_->copy(device, stream, address, address, 4));
    assert_fails(DEVICE_LOST, class_->copy_from_host(device, NULL, address, &memory, 4));
    assert_fails(DEVICE_LOST, class_->copy_to_host(device, stream, &memory, address, 4));
    assert_fails(DEVICE_LOST, class_->event_record(device, event, stream));
    assert_fails(DEVICE_LOST, class_->event_synchronize(device, event));
    assert_fails(DEVICE_LOST, class_->event_elapsed(device, event, event, &number));
    assert_fails(DEVICE_LOST, add_once(device));
    assert_non_null(class_->kernels(device));
    class_->free(device, stream, address, 64);
    class_->event_destroy(device, event);
    class_->stream_destroy(device, stream);
}

static void *kill_soon(void *argument) {
    static const struct timespec pause = {.tv_nsec = 50000000};
    (void)nanosleep(&pause, NULL);
    kill_worker(argument);
    return NULL;
}

/* Waiting for a kernel, or for room in a ring that nobody reads, ends with the worker. */
static void test_process_device_is_not_waited_for_without_end(void **state) {
    (void)state;
    static const uint8_t bytes[1 << 20];
    for (int posts = 0; posts < 2; posts++) {
        OWN(Device, device) = NULL;
        DeviceStream *stream;
        uint64_t address;
        pthread_t thread;
        Error *error = NULL;
        assert_ok(device_open("sim:3,bandwidth=4096,worker=process", &device));
        const DeviceClass *class_ = device->class_;
        assert_ok(class_->stream_create(device, &stream));
        assert_ok(class_->alloc(device, stream, sizeof bytes, &address));
        assert_int_equal(pthread_create(&thread, NULL, kill_soon, device), 0);
        for (int i = 0; i < 100 && !error; i++) { /* minutes, over such a link */
            error = class_->copy_from_host(device, stream, address, bytes, sizeof bytes);
            if (!error && !posts) error = class_->stream_synchronize(device, stream);
        }
        assert_fails(DEVICE_LOST, error);
        assert_int_equal(pthread_join(thread, NULL), 0);
        class_->stream_destroy(device, stream);
    }
}

/* ---- nothing is left ---- */

static size_t count_entries(const char *folder) {
    size_t count = 0;
    DIR *open_folder = opendir(folder);
    assert_non_null(open_folder);
    while (readdir(open_folder)) count++;
    (void)closedir(open_folder);
    return count;
}

static void test_process_device_leaves_nothing_behind(void **state) {
    (void)state;
    size_t descriptors = count_entries("/proc/self/fd"), threads = count_entries("/proc/self/task");
    for (int i = 0; i < 100; i++) {
        Device *device;
        DeviceMemory memory;
        assert_ok(device_open(spec, &device));
        if (i % 3 == 0) kill_worker(device);
        if (i % 3 == 1) assert_ok(device->class_->memory(device, &memory));
        device_close(device);
    }
    assert_int_equal(count_entries("/proc/self/fd"), descriptors);
    assert_int_equal(count_entries("/proc/self/task"), threads);
}

int test_process_device(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_device_looks_as_if_it_were_here),
        cmocka_unit_test(test_process_device_open_says_what_is_wrong),
        cmocka_unit_test(test_process_device_copies_any_size),
        cmocka_unit_test(test_process_device_memory_comes_back_across_streams),
        cmocka_unit_test(test_process_device_says_how_its_worker_ended),
        cmocka_unit_test(test_process_device_is_lost_with_its_worker),
        cmocka_unit_test(test_process_device_is_not_waited_for_without_end),
        cmocka_unit_test(test_process_device_leaves_nothing_behind),
    };
    return cmocka_run_group_tests_name("process_device", tests, NULL, NULL);
}
