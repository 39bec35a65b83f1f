#include "kernels/planning/expansion_plan.h"

#include "kernels/registry/device_registry.h"
#include "kernels/shape_rules/operator_infer.h"
#include "kernels/tensor/tensor.h"
#include "tests/kernels/fixtures/infer_fixture.h"
#include "tests/support/device_call.h"
#include "tests/support/test_support.h"

/* 20 steps over one size: their values take turns in few places. */
static const char long_program[] =
    "{program=\"Add i0 i0; Neg r0; Add r1 r0; Neg r2; Add r3 r2; Neg r4; Add r5 r4; Neg r6; "
    "Add r7 r6; Neg r8; Add r9 r8; Neg r10; Add r11 r10; Neg r12; Add r13 r12; Neg r14; "
    "Add r15 r14; Neg r16; Add r17 r16; Add r18 i0\"}";

static void test_expansion_plan_reuses_the_places_of_dead_values(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(Plan, plan) = NULL;
    OWN(Tensor, input) = NULL;
    Shape shape = {.rank = 1, .dims = {1024}};
    assert_ok(device_open("cpu", &device));
    input = device_tensor_random(DTYPE_FLOAT32, &shape, 1, 2, 1);
    DeviceCall call = {.device = device,
        .operator_name = "FusedElementwise",
        .attributes = long_program,
        .input_count = 1,
        .inputs = {input},
        .expand = true};
    assert_ok(device_call_plan(&call, &plan));
    assert_string_equal(plan->kernel_name, "expansion");
    assert_int_equal(plan->origin, PLAN_OF_EXPANSION);
    assert_true(plan->workspace_bytes <= 3 * 4096);
    OWN(Tensor, output) = NULL;
    assert_ok(device_call_run(&call, &output, NULL));
    assert_true(device_tensor_get(output, 5) == device_tensor_get(input, 5));
}

static void test_expansion_plan_refuses_packed_inputs(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    Plan *plan = NULL;
    InferFixture fixture;
    assert_ok(device_open("cpu", &device));
    infer_fixture_init(&fixture, "FusedMatMul", NULL, "float32[2,3] float32[3,4]", 1);
    fixture.specs[1].layout = 77;
    assert_ok(operator_infer(&fixture.request));
    assert_fails_saying(
        UNSUPPORTED, "input 1 is packed", expansion_plan_create(device, &fixture.request, &plan));
    infer_fixture_deinit(&fixture);
}

/* An output that is an input is a copy of it; one that others look at is itself and their source.
 */
static void test_expansion_plan_hands_out_inputs_and_views(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    assert_ok(device_open("cpu", &device));
    static const double q[4] = {1, 2, 3, 4}, k[2] = {5, 6}, v[2] = {7, 8};
    DeviceCall call = {.device = device, .operator_name = "Attention", .expand = true};
    call.input_count = 3;
    call.output_count = 4;
    call.inputs[0] = device_tensor(DTYPE_FLOAT64, q, 4, 1, 2, 2, 1);
    call.inputs[1] = device_tensor(DTYPE_FLOAT64, k, 4, 1, 1, 2, 1);
    call.inputs[2] = device_tensor(DTYPE_FLOAT64, v, 4, 1, 1, 2, 1);
    Tensor *outputs[4] = {0};
    assert_ok(device_call_run(&call, outputs, NULL));
    for (int64_t i = 0; i < 2; i++) {
        assert_true(device_tensor_get(outputs[1], i) == k[i]);
        assert_true(device_tensor_get(outputs[2], i) == v[i]);
    }
    for (int64_t i = 0; i < 8; i++)
        assert_true(device_tensor_get(outputs[3], i) == q[i / 2] * k[i % 2]);
    for (uint32_t i = 0; i < 4; i++) tensor_release(outputs[i]);
    for (uint32_t i = 0; i < 3; i++) tensor_release(call.inputs[i]);
}

/* The execution's counter moves on by the draws of all nodes. */
static void test_expansion_plan_counts_its_draws(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(Plan, plan) = NULL;
    OWN(Plan, seeded) = NULL;
    Shape shape = {.rank = 1, .dims = {100}};
    assert_ok(device_open("cpu", &device));
    DeviceCall call = {.device = device, .operator_name = "Bernoulli", .input_count = 1};
    call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &shape, 0, 1, 1);
    assert_ok(device_call_plan(&call, &plan));
    assert_int_equal(plan->philox_draws, 200);
    call.attributes = "{seed=1.0}";
    assert_ok(device_call_plan(&call, &seeded));
    assert_int_equal(seeded->philox_draws, 0);
    tensor_release(call.inputs[0]);
}

int test_expansion_plan(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expansion_plan_reuses_the_places_of_dead_values),
        cmocka_unit_test(test_expansion_plan_refuses_packed_inputs),
        cmocka_unit_test(test_expansion_plan_hands_out_inputs_and_views),
        cmocka_unit_test(test_expansion_plan_counts_its_draws),
    };
    return cmocka_run_group_tests_name("expansion_plan", tests, NULL, NULL);
}
