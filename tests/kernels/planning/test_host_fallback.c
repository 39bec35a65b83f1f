#include "kernels/planning/host_fallback.h"

#include "kernels/registry/device_registry.h"
#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/infer_fixture.h"
#include "tests/support/device_call.h"
#include "tests/support/test_support.h"

/* The same bits as the host's, whatever the mode; also where the data decides the shape. */
static void test_host_fallback_gives_the_bits_of_the_host(void **state) {
    (void)state;
    static const struct {
        const char *name, *attributes;
        uint32_t inputs;
    } rows[] = {{"Add", NULL, 2}, {"Softmax", NULL, 1}, {"NonZero", NULL, 1}};
    OWN(Device, cpu) = NULL;
    OWN(Device, sim) = NULL;
    Shape shape = {.rank = 2, .dims = {7, 9}};
    assert_ok(device_open("cpu", &cpu));
    assert_ok(device_open("sim:0,lacks=*", &sim));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        OWN(Tensor, input) = device_tensor_random(DTYPE_FLOAT32, &shape, -1, 1, i);
        OWN(Tensor, here) = NULL;
        OWN(Tensor, there) = NULL;
        DeviceCall call = {.device = cpu,
            .operator_name = rows[i].name,
            .input_count = rows[i].inputs,
            .inputs = {input, input},
            .threads = 3,
            .offset_elements = 3};
        assert_ok(device_call_run(&call, &here, NULL));
        call.device = sim;
        OWN(Plan, plan) = NULL;
        assert_ok(device_call_plan(&call, &plan));
        assert_int_equal(plan->origin, PLAN_OF_HOST);
        assert_ok(device_call_run(&call, &there, NULL));
        assert_true(device_tensor_hash(here) == device_tensor_hash(there));
        call.in_place = 1;
        tensor_release(there);
        there = NULL;
        assert_ok(device_call_run(&call, &there, NULL));
        assert_true(device_tensor_hash(here) == device_tensor_hash(there));
    }
}

/* What the shape rule reads by value is in the plan: a launch has no address for it. */
static void test_host_fallback_copies_no_value_inputs(void **state) {
    (void)state;
    OWN(Device, sim) = NULL;
    Shape shape = {.rank = 2, .dims = {4, 3}};
    static const double start[] = {1}, end[] = {3};
    assert_ok(device_open("sim:0,lacks=*", &sim));
    OWN(Tensor, data) = device_tensor_random(DTYPE_FLOAT32, &shape, -1, 1, 7);
    OWN(Tensor, starts) = device_tensor(DTYPE_INT64, start, 1, 1);
    OWN(Tensor, ends) = device_tensor(DTYPE_INT64, end, 1, 1);
    OWN(Tensor, output) = NULL;
    DeviceCall call = {
        .device = sim, .operator_name = "Slice", .input_count = 3, .inputs = {data, starts, ends}};
    assert_ok(device_call_run(&call, &output, NULL));
    assert_int_equal(output->shape.dims[0], 2);
    for (int64_t i = 0; i < 6; i++)
        assert_true(device_tensor_get(output, i) == device_tensor_get(data, i + 3));
}

static void test_host_fallback_refuses_packed_operands(void **state) {
    (void)state;
    OWN(Device, cpu) = NULL;
    OWN(Device, sim) = NULL;
    Plan *plan = NULL;
    InferFixture fixture;
    assert_ok(device_open("cpu", &cpu));
    assert_ok(device_open("sim:0", &sim));
    infer_fixture_init(&fixture, "Add", NULL, "float32[2] float32[2]", 1);
    assert_ok(operator_infer(&fixture.request));
    fixture.specs[1].layout = 9;
    Error *error = host_fallback_plan(sim, cpu, &fixture.request, &plan);
    assert_int_equal(error_code(error), ERROR_UNSUPPORTED);
    error_free(error);
    infer_fixture_deinit(&fixture);
}

static void test_host_fallback_reports_what_the_host_lacks(void **state) {
    (void)state;
    OWN(Device, sim) = NULL;
    Plan *plan = NULL;
    InferFixture fixture;
    assert_ok(device_open("sim:0,lacks=Trilu+Add", &sim));
    infer_fixture_init(&fixture, "Trilu", NULL, "int4[2,3]", 1);
    assert_ok(operator_infer(&fixture.request));
    assert_fails_saying(
        UNSUPPORTED, "no kernel for Trilu(int4)", sim->class_->plan(sim, &fixture.request, &plan));
    infer_fixture_deinit(&fixture);
}

int test_host_fallback(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_fallback_gives_the_bits_of_the_host),
        cmocka_unit_test(test_host_fallback_copies_no_value_inputs),
        cmocka_unit_test(test_host_fallback_refuses_packed_operands),
        cmocka_unit_test(test_host_fallback_reports_what_the_host_lacks),
    };
    return cmocka_run_group_tests_name("host_fallback", tests, NULL, NULL);
}
