#include <time.h>

#include "base/thread.h"
#include "kernels/registry/device_registry.h"
#include "kernels/device/kernel_stop.h"
#include "tests/support/device_call.h"
#include "tests/support/test_support.h"

static Device *open_device(void) {
    Device *device;
    assert_ok(device_open("sim:0,worker=process", &device));
    return device;
}

static void test_process_plan_is_what_the_device_plans(void **state) {
    (void)state;
    static const double values[] = {1, 0, 3, 0};
    static const char *const operators[] = {"Relu", "NonZero", "Identity", "Softmax"};
    OWN(Device, here) = NULL;
    OWN(Device, there) = open_device();
    assert_ok(device_open("sim:0", &here));
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        OWN(Plan, one) = NULL;
        OWN(Plan, other) = NULL;
        DeviceCall call = {.operator_name = operators[i], .input_count = 1};
        call.inputs[0] = device_tensor(DTYPE_FLOAT32, values, 2, 2, 2);
        call.device = here;
        assert_ok(device_call_plan(&call, &one));
        call.device = there;
        assert_ok(device_call_plan(&call, &other));
        tensor_release(call.inputs[0]);
        assert_string_equal(other->kernel_name, one->kernel_name);
        assert_int_equal(other->workspace_bytes, one->workspace_bytes);
        assert_int_equal(other->in_place, one->in_place);
        assert_int_equal(other->view, one->view);
        assert_int_equal(other->origin, one->origin);
        assert_int_equal(other->philox_draws, one->philox_draws);
        assert_int_equal(!other->measure, !one->measure);
        assert_int_equal(!other->launch, !one->launch);
        assert_memory_equal(other->outputs, one->outputs, sizeof(TensorSpec));
        assert_ptr_equal(other->device, there);
    }
}

static void test_process_plan_errors_are_the_devices(void **state) {
    (void)state;
    const double ones[2] = {1, 1};
    OWN(Device, device) = open_device();
    OWN(Plan, plan) = NULL;
    DeviceCall call = {.device = device, .operator_name = "BatchNormalization", .input_count = 5};
    /* no kernel takes float32 with statistics of float64 */
    for (uint32_t i = 0; i < 5; i++)
        call.inputs[i] = device_tensor(i < 3 ? DTYPE_FLOAT32 : DTYPE_FLOAT64, ones, 1, 2);
    tensor_release(call.inputs[0]);
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, ones, 2, 1, 2);
    assert_fails_saying(UNSUPPORTED, "BatchNormalization", device_call_plan(&call, &plan));
    for (uint32_t i = 0; i < 5; i++) tensor_release(call.inputs[i]);
}

/* Launches are on one channel, the release on another, which is idle and so faster. */
static void test_process_plan_outlives_its_posted_launches(void **state) {
    (void)state;
    enum { ROUNDS = 50, LAUNCHES = 40 };
    static const double values[] = {-1, 2, -3, 4};
    float results[4] = {0};
    OWN(Device, device) = NULL;
    DeviceStream *stream;
    uint64_t address;
    assert_ok(device_open("sim:0,lag=20,worker=process", &device));
    const DeviceClass *class_ = device->class_;
    DeviceCall call = {.device = device, .operator_name = "Relu", .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, values, 1, 4);
    assert_ok(class_->stream_create(device, &stream));
    assert_ok(class_->alloc(device, stream, sizeof results, &address));
    assert_ok(class_->copy_from_host(
        device, stream, address, tensor_data(call.inputs[0]), sizeof results));
    for (int i = 0; i < ROUNDS; i++) {
        Plan *plan;
        assert_ok(device_call_plan(&call, &plan));
        const Launch launch = {
            .inputs = &address, .outputs = &address, .stream = stream, .threads = 1};
        for (int k = 0; k < LAUNCHES; k++)
            assert_ok(plan->launch(plan, &launch, &plan->outputs[0].shape));
        plan_release(plan);
    }
    assert_ok(class_->copy_to_host(device, stream, results, address, sizeof results));
    for (int i = 0; i < 4; i++) assert_true(results[i] == (i % 2 ? (float)values[i] : 0));
    class_->free(device, stream, address, sizeof results);
    class_->stream_destroy(device, stream);
    tensor_release(call.inputs[0]);
}

/* A weight of several records, packed there from what is sent. */
static void test_process_plan_packs_weights(void **state) {
    (void)state;
    const Shape left = {2, {3, 512}}, right = {2, {512, 640}};
    uint64_t hashes[2];
    DeviceCall call = {.operator_name = "MatMul", .input_count = 2, .pack = true};
    call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &left, -1, 1, 1);
    call.inputs[1] = device_tensor_random(DTYPE_FLOAT32, &right, -1, 1, 2);
    for (int i = 0; i < 2; i++) {
        OWN(Device, device) = NULL;
        Tensor *output;
        assert_ok(device_open(i ? "sim:0,worker=process" : "sim:0", &device));
        call.device = device;
        assert_ok(device_call_run(&call, &output, NULL));
        hashes[i] = device_tensor_hash(output);
        tensor_release(output);
    }
    assert_int_equal(hashes[0], hashes[1]);
    tensor_release(call.inputs[0]);
    tensor_release(call.inputs[1]);
}

enum { SIDE = 512 };

/* A product that is computed in many pieces. */
typedef struct LongCall {
    Device *device;
    Plan *plan;
    DeviceStream *stream;
    KernelStop stop;
    uint64_t addresses[3];
    atomic_bool done;
    Error *error;
} LongCall;

static void long_call_init(LongCall *long_call, const DeviceCall *call) {
    const uint64_t size = sizeof(float) * SIDE * SIDE;
    *long_call = (LongCall){0};
    assert_ok(device_open("sim:0,worker=process", &long_call->device));
    const DeviceClass *class_ = long_call->device->class_;
    assert_true(class_->stops_kernels);
    DeviceCall there = *call;
    there.device = long_call->device;
    assert_ok(device_call_plan(&there, &long_call->plan));
    assert_ok(class_->stream_create(long_call->device, &long_call->stream));
    kernel_stop_init(&long_call->stop);
    for (int i = 0; i < 3; i++) {
        assert_ok(
            class_->alloc(long_call->device, long_call->stream, size, &long_call->addresses[i]));
        if (i < 2)
            assert_ok(class_->copy_from_host(long_call->device, long_call->stream,
                long_call->addresses[i], tensor_data(call->inputs[i]), size));
    }
}

static void long_call_deinit(LongCall *long_call) {
    const DeviceClass *class_ = long_call->device->class_;
    for (int i = 0; i < 3; i++)
        class_->free(long_call->device, long_call->stream, long_call->addresses[i],
            sizeof(float) * SIDE * SIDE);
    class_->stream_destroy(long_call->device, long_call->stream);
    plan_release(long_call->plan);
    device_close(long_call->device);
    kernel_stop_deinit(&long_call->stop);
}

/* As the VM does on a slice's thread. */
static void *compute(void *argument) {
    LongCall *long_call = argument;
    const Launch launch = {.inputs = long_call->addresses,
        .outputs = long_call->addresses + 2,
        .stream = long_call->stream,
        .threads = 1};
    kernel_stop_scope = (KernelStopScope){.stop = &long_call->stop, .whole = true, .pauses = true};
    Error *error =
        long_call->plan->launch(long_call->plan, &launch, &long_call->plan->outputs[0].shape);
    if (!error) error = device_stream_synchronize(long_call->device, long_call->stream);
    kernel_stop_scope = (KernelStopScope){0};
    long_call->error = error;
    atomic_store(&long_call->done, true);
    return NULL;
}

/* It waits where it is, is abandoned there, and done again with the same bits. */
static void test_process_plan_stops_kernels_there(void **state) {
    (void)state;
    static const struct timespec while_ = {.tv_nsec = 300000000};
    static float bits[SIDE * SIDE];
    const Shape square = {2, {SIDE, SIDE}};
    OWN(Device, here) = NULL;
    LongCall long_call;
    pthread_t thread;
    Tensor *expected;
    DeviceCall call = {.operator_name = "MatMul", .input_count = 2};
    for (int i = 0; i < 2; i++)
        call.inputs[i] = device_tensor_random(DTYPE_FLOAT32, &square, -1, 1, (uint32_t)i + 1);
    assert_ok(device_open("sim:0", &here));
    call.device = here;
    assert_ok(device_call_run(&call, &expected, NULL));
    long_call_init(&long_call, &call);
    kernel_stop_pause(&long_call.stop, 0);
    assert_true(thread_start(&thread, "test", compute, &long_call));
    (void)nanosleep(&while_, NULL); /* many times what the product takes */
    assert_false(atomic_load(&long_call.done));
    kernel_stop_want(&long_call.stop, KERNEL_STOP_ABANDON);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_fails(ABANDONED, long_call.error);
    (void)compute(&long_call); /* nobody has taken that back */
    assert_fails(ABANDONED, long_call.error);
    kernel_stop_clear(&long_call.stop);
    (void)compute(&long_call);
    assert_ok(long_call.error);
    assert_ok(long_call.device->class_->copy_to_host(
        long_call.device, long_call.stream, bits, long_call.addresses[2], sizeof bits));
    assert_memory_equal(bits, tensor_data(expected), sizeof bits);
    long_call_deinit(&long_call);
    tensor_release(expected);
    for (int i = 0; i < 2; i++) tensor_release(call.inputs[i]);
}

int test_process_plan(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_plan_is_what_the_device_plans),
        cmocka_unit_test(test_process_plan_errors_are_the_devices),
        cmocka_unit_test(test_process_plan_outlives_its_posted_launches),
        cmocka_unit_test(test_process_plan_packs_weights),
        cmocka_unit_test(test_process_plan_stops_kernels_there),
    };
    return cmocka_run_group_tests_name("process_plan", tests, NULL, NULL);
}
