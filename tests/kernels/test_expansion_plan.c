#include "kernels/expansion_plan.h"

#include "kernels/tensor.h"
#include "tests/kernels/infer_fixture.h"
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

int test_expansion_plan(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expansion_plan_reuses_the_places_of_dead_values),
        cmocka_unit_test(test_expansion_plan_refuses_packed_inputs),
    };
    return cmocka_run_group_tests_name("expansion_plan", tests, NULL, NULL);
}
