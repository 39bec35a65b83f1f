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

int test_process_plan(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_plan_is_what_the_device_plans),
        cmocka_unit_test(test_process_plan_errors_are_the_devices),
        cmocka_unit_test(test_process_plan_outlives_its_posted_launches),
        cmocka_unit_test(test_process_plan_packs_weights),
    };
    return cmocka_run_group_tests_name("process_plan", tests, NULL, NULL);
}
