#include "base/clock.h"
#include "kernels/device/device.h"
#include "kernels/registry/device_registry.h"
#include "kernels/shape_rules/operator_infer.h"
#include "kernels/tensor/tensor.h"
#include "tests/kernels/fixtures/infer_fixture.h"
#include "tests/support/device_call.h"
#include "tests/support/test_support.h"

static void test_sim_device_has_the_class_of_cpu(void **state) {
    (void)state;
    OWN(Device, cpu) = NULL;
    OWN(Device, sim) = NULL;
    TextBuilder OWN_TEXT(one) = {0};
    TextBuilder OWN_TEXT(two) = {0};
    assert_ok(device_open("cpu", &cpu));
    assert_ok(device_open("sim:0", &sim));
    cpu->class_->determinism_class(cpu, &one);
    sim->class_->determinism_class(sim, &two);
    assert_string_equal(text_builder_get(&one), text_builder_get(&two));
}

/* Without its fused kernels it rounds more often: no checkpoint may promise it cpu's bits. */
static void test_sim_device_without_kernels_is_of_another_class(void **state) {
    (void)state;
    OWN(Device, sim) = NULL;
    TextBuilder OWN_TEXT(text) = {0};
    assert_ok(device_open("sim:0,lacks=Conv+FusedConv", &sim));
    sim->class_->determinism_class(sim, &text);
    assert_true(text_ends_with(text_builder_get(&text), " without Conv+FusedConv"));
}

static void test_sim_device_memory_is_its_own(void **state) {
    (void)state;
    OWN(Device, one) = NULL;
    OWN(Device, two) = NULL;
    uint64_t address;
    uint8_t byte = 0;
    assert_ok(device_open("sim:0", &one));
    assert_ok(device_open("sim:1", &two));
    assert_ok(one->class_->alloc(one, NULL, 64, &address));
    assert_ok(one->class_->copy_to_host(one, NULL, &byte, address, 1));
    assert_fails_saying(INTERNAL, "sim:1", two->class_->copy_to_host(two, NULL, &byte, address, 1));
    assert_fails(INTERNAL, one->class_->copy_to_host(one, NULL, &byte, address + 64, 1));
    assert_fails(
        INTERNAL, one->class_->copy_from_host(one, NULL, (uint64_t)(uintptr_t)&byte, &byte, 1));
    assert_fails(INTERNAL, one->class_->copy(one, NULL, address + 63, address, 2));
    assert_ok(one->class_->copy(one, NULL, address + 1, address, 63));
    one->class_->free(one, NULL, address, 64);
}

/* An address that leaves its allocation is found at the launch, not used. */
static void test_sim_device_checks_the_addresses_of_a_launch(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(Plan, plan) = NULL;
    InferFixture fixture;
    uint64_t address;
    assert_ok(device_open("sim:0", &device));
    infer_fixture_init(&fixture, "Neg", NULL, "float32[16]", 1);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(device->class_->plan(device, &fixture.request, &plan));
    assert_ok(device->class_->alloc(device, NULL, 128, &address));
    static const uint64_t offsets[][2] = {{0, 64}, {68, 0}, {0, 68}, {128, 0}};
    for (int i = 0; i < 4; i++) {
        uint64_t input = address + offsets[i][0], output = address + offsets[i][1];
        Launch launch = {.inputs = &input, .outputs = &output, .threads = 1};
        Error *error = plan->launch(plan, &launch, &plan->outputs[0].shape);
        assert_int_equal(error_code(error), i == 0 ? ERROR_NONE : ERROR_INTERNAL);
        error_free(error);
    }
    device->class_->free(device, NULL, address, 128);
    infer_fixture_deinit(&fixture);
}

static void test_sim_device_takes_memory_only_within_its_limit(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    DeviceMemory memory;
    uint64_t address;
    assert_ok(device_open("sim:0,memory=64KiB", &device));
    assert_ok(device->class_->memory(device, &memory));
    assert_int_equal(memory.total_bytes, 65536);
    assert_fails_saying(EXHAUSTED, "sim:0", device->class_->alloc(device, NULL, 65537, &address));
    assert_ok(device->class_->alloc(device, NULL, 65536, &address));
    device->class_->free(device, NULL, address, 65536);
}

static void test_sim_device_refuses_a_layout_that_is_not_the_rules(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    Plan *plan = NULL;
    InferFixture fixture;
    assert_ok(device_open("sim:0", &device));
    infer_fixture_init(&fixture, "MatMul", NULL, "float32[4,4] float32[4,4]", 1);
    fixture.specs[1].layout = 12345;
    assert_ok(operator_infer(&fixture.request));
    Error *error = device->class_->plan(device, &fixture.request, &plan);
    assert_true(error_code(error) == ERROR_INVALID || error_code(error) == ERROR_UNSUPPORTED);
    error_free(error);
    infer_fixture_deinit(&fixture);
}

/* Launches "Neg" on 16 floats at the start of one allocation. */
static Error *launch_neg(const Plan *plan, uint64_t address) {
    uint64_t input = address, output = address + 64;
    Launch launch = {.inputs = &input, .outputs = &output, .threads = 1};
    return plan->launch(plan, &launch, &plan->outputs[0].shape);
}

static void test_sim_device_fails_the_calls_that_its_spec_names(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(Plan, plan) = NULL;
    InferFixture fixture;
    uint64_t address;
    uint8_t bytes[64] = {0};
    assert_ok(device_open("sim:0,fail-alloc=2,fail-copy=3,fail-launch=2", &device));
    infer_fixture_init(&fixture, "Neg", NULL, "float32[16]", 1);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(device->class_->plan(device, &fixture.request, &plan));
    assert_ok(device->class_->alloc(device, NULL, 128, &address));
    uint64_t other;
    assert_fails_saying(EXHAUSTED, "sim:0", device->class_->alloc(device, NULL, 128, &other));
    assert_ok(device->class_->copy_from_host(device, NULL, address, bytes, 64));
    assert_ok(device->class_->copy(device, NULL, address + 64, address, 64));
    assert_fails_saying(
        FAILED, "sim:0", device->class_->copy_to_host(device, NULL, bytes, address, 64));
    assert_ok(device->class_->copy_to_host(device, NULL, bytes, address, 64));
    assert_ok(launch_neg(plan, address));
    assert_fails_saying(FAILED, "sim:0", launch_neg(plan, address));
    assert_ok(launch_neg(plan, address));
    device->class_->free(device, NULL, address, 128);
    infer_fixture_deinit(&fixture);
}

static void test_sim_device_that_is_lost_only_takes_memory_back(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(Plan, plan) = NULL;
    Plan *none = NULL;
    InferFixture fixture;
    DeviceMemory memory;
    uint64_t address, other;
    uint8_t bytes[64] = {0};
    assert_ok(device_open("sim:3,lose-after=2", &device));
    infer_fixture_init(&fixture, "Neg", NULL, "float32[16]", 1);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(device->class_->plan(device, &fixture.request, &plan));
    assert_ok(device->class_->alloc(device, NULL, 128, &address));
    assert_ok(launch_neg(plan, address));
    assert_fails_saying(DEVICE_LOST, "sim:3 is lost", launch_neg(plan, address));
    const DeviceClass *class_ = device->class_;
    assert_fails(DEVICE_LOST, class_->memory(device, &memory));
    assert_fails(DEVICE_LOST, class_->alloc(device, NULL, 64, &other));
    assert_fails(DEVICE_LOST, class_->copy_from_host(device, NULL, address, bytes, 64));
    assert_fails(DEVICE_LOST, class_->copy_to_host(device, NULL, bytes, address, 64));
    assert_fails(DEVICE_LOST, class_->copy(device, NULL, address + 64, address, 64));
    assert_fails(DEVICE_LOST, class_->plan(device, &fixture.request, &none));
    class_->free(device, NULL, address, 128);
    infer_fixture_deinit(&fixture);
}

/* 64 KiB at 16 MiB a second, and a launch of 128 bytes at 64 KB a second: 2 ms and more each. */
static void test_sim_device_waits_for_link_and_kernels(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(Plan, plan) = NULL;
    InferFixture fixture;
    uint64_t address;
    static uint8_t bytes[65536];
    assert_ok(device_open("sim:0,bandwidth=16MiB,speed=0.0000064", &device));
    infer_fixture_init(&fixture, "Neg", NULL, "float32[16]", 1);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(device->class_->plan(device, &fixture.request, &plan));
    assert_ok(device->class_->alloc(device, NULL, sizeof bytes, &address));
    uint64_t start_ns = clock_now_ns(clock_real());
    assert_ok(device->class_->copy_from_host(device, NULL, address, bytes, sizeof bytes));
    assert_true(clock_now_ns(clock_real()) >= start_ns + 3900000);
    start_ns = clock_now_ns(clock_real());
    assert_ok(launch_neg(plan, address));
    assert_true(clock_now_ns(clock_real()) >= start_ns + 1900000);
    device->class_->free(device, NULL, address, sizeof bytes);
    infer_fixture_deinit(&fixture);
}

int test_sim_device(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_device_has_the_class_of_cpu),
        cmocka_unit_test(test_sim_device_without_kernels_is_of_another_class),
        cmocka_unit_test(test_sim_device_memory_is_its_own),
        cmocka_unit_test(test_sim_device_checks_the_addresses_of_a_launch),
        cmocka_unit_test(test_sim_device_takes_memory_only_within_its_limit),
        cmocka_unit_test(test_sim_device_refuses_a_layout_that_is_not_the_rules),
        cmocka_unit_test(test_sim_device_fails_the_calls_that_its_spec_names),
        cmocka_unit_test(test_sim_device_that_is_lost_only_takes_memory_back),
        cmocka_unit_test(test_sim_device_waits_for_link_and_kernels),
    };
    return cmocka_run_group_tests_name("sim_device", tests, NULL, NULL);
}
