#include "kernels/device/device.h"
#include "kernels/registry/device_registry.h"
#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/infer_fixture.h"

/* "Neg" of 16 floats, on a stream. */
typedef struct NegFixture {
    Device *device;
    DeviceStream *stream;
    InferFixture infer;
    Plan *plan;
    uint64_t address; /* 64 bytes each of input and output */
} NegFixture;

static void neg_init(NegFixture *fixture, const char *spec) {
    float ones[16];
    for (int i = 0; i < 16; i++) ones[i] = 1;
    *fixture = (NegFixture){0};
    assert_ok(device_open(spec, &fixture->device));
    const DeviceClass *class_ = fixture->device->class_;
    assert_ok(device_stream_create(fixture->device, &fixture->stream));
    infer_fixture_init(&fixture->infer, "Neg", NULL, "float32[16]", 1);
    assert_ok(operator_infer(&fixture->infer.request));
    assert_ok(class_->plan(fixture->device, &fixture->infer.request, &fixture->plan));
    assert_ok(class_->alloc(fixture->device, fixture->stream, 128, &fixture->address));
    assert_ok(class_->copy_from_host(
        fixture->device, fixture->stream, fixture->address, ones, sizeof ones));
}

static void neg_deinit(NegFixture *fixture) {
    plan_release(fixture->plan);
    fixture->device->class_->free(fixture->device, fixture->stream, fixture->address, 128);
    device_stream_destroy(fixture->device, fixture->stream);
    device_close(fixture->device);
    infer_fixture_deinit(&fixture->infer);
}

static Error *neg_launch(NegFixture *fixture, uint64_t offset) {
    uint64_t input = fixture->address + offset, output = fixture->address + 64;
    Shape shape = fixture->plan->outputs[0].shape;
    Launch launch = {.inputs = &input, .outputs = &output, .stream = fixture->stream, .threads = 1};
    Error *error = fixture->plan->launch(fixture->plan, &launch, &shape);
    input = output = 0; /* it needs nothing of the caller's any more */
    shape.rank = 0;
    return error;
}

/* The launch is back before it has run; the plan may go at once. */
static void test_sim_plan_launches_run_later(void **state) {
    (void)state;
    NegFixture fixture;
    float value = 0;
    neg_init(&fixture, "sim:0,lag=2000");
    assert_ok(neg_launch(&fixture, 0));
    plan_release(fixture.plan);
    fixture.plan = NULL;
    assert_ok(fixture.device->class_->copy_to_host(
        fixture.device, NULL, &value, fixture.address + 64, sizeof value));
    assert_true(value == 0);
    assert_ok(fixture.device->class_->copy_to_host(
        fixture.device, fixture.stream, &value, fixture.address + 64, sizeof value));
    assert_true(value == -1);
    neg_deinit(&fixture);
}

/* What goes wrong on the device is told by whoever waits first. */
static void test_sim_plan_errors_come_with_the_wait(void **state) {
    (void)state;
    NegFixture fixture;
    float value;
    neg_init(&fixture, "sim:0,fail-launch=1");
    const DeviceClass *class_ = fixture.device->class_;
    assert_ok(neg_launch(&fixture, 0));
    assert_fails_saying(FAILED, "launch 1",
        class_->copy_to_host(
            fixture.device, fixture.stream, &value, fixture.address + 64, sizeof value));
    assert_ok(neg_launch(&fixture, 8)); /* leaves the allocation with its last 8 bytes: no */
    assert_ok(class_->stream_synchronize(fixture.device, fixture.stream));
    assert_ok(neg_launch(&fixture, 72));
    assert_fails_saying(
        INTERNAL, "input 0", class_->stream_synchronize(fixture.device, fixture.stream));
    neg_deinit(&fixture);
}

static void test_sim_plan_of_a_lost_device_fails_with_the_wait_and_then_at_once(void **state) {
    (void)state;
    NegFixture fixture;
    DeviceStream *another;
    neg_init(&fixture, "sim:0,lose-after=2");
    const DeviceClass *class_ = fixture.device->class_;
    for (int i = 0; i < 2; i++) {
        Error *error = neg_launch(&fixture, 0); /* the second may find it lost already */
        assert_true(!error || error_code(error) == ERROR_DEVICE_LOST);
        error_free(error);
    }
    assert_fails(DEVICE_LOST, class_->stream_synchronize(fixture.device, fixture.stream));
    assert_fails(DEVICE_LOST, class_->stream_synchronize(fixture.device, fixture.stream));
    assert_fails(DEVICE_LOST, neg_launch(&fixture, 0));
    assert_fails(DEVICE_LOST, device_stream_create(fixture.device, &another));
    neg_deinit(&fixture);
}

int test_sim_plan(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_plan_launches_run_later),
        cmocka_unit_test(test_sim_plan_errors_come_with_the_wait),
        cmocka_unit_test(test_sim_plan_of_a_lost_device_fails_with_the_wait_and_then_at_once),
    };
    return cmocka_run_group_tests_name("sim_plan", tests, NULL, NULL);
}
