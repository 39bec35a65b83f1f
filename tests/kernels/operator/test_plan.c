#include "kernels/operator/plan.h"

#include "kernels/device/device.h"
#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/infer_fixture.h"

typedef struct State {
    uint64_t words[5];
} State;

static uint32_t destroyed;
static void destroy(Plan *plan) {
    destroyed++;
    plan_free(plan);
}

static void test_plan_copies_the_outputs_and_clears_the_state(void **state) {
    (void)state;
    InferFixture fixture;
    Plan *plan = NULL;
    infer_fixture_init(&fixture, "Dropout", NULL, "float32[4,5]", 2);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(plan_create(device_host(), &fixture.request, "a kernel", sizeof(State), &plan));
    fixture.request.outputs[1] = (TensorSpec){0};
    assert_int_equal(plan->output_count, 2);
    assert_int_equal(plan->outputs[1].dtype, DTYPE_BOOL);
    assert_int_equal(plan->outputs[1].shape.dims[1], 5);
    State *own = plan_state(plan);
    assert_int_equal((uintptr_t)own % 16, 0);
    for (int i = 0; i < 5; i++) assert_int_equal(own->words[i], 0);
    memset(own, 0xff, sizeof *own);
    plan->destroy = destroy;
    plan_release(plan_retain(plan));
    assert_int_equal(destroyed, 0);
    plan_release(plan);
    assert_int_equal(destroyed, 1);
    plan_release(NULL);
    infer_fixture_deinit(&fixture);
}

static uint64_t pairs(const char *name, const char *attributes, const char *inputs) {
    InferFixture fixture;
    OWN(Plan, plan) = NULL;
    infer_fixture_init(&fixture, name, attributes, inputs, 1);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(plan_create(device_host(), &fixture.request, "a kernel", 0, &plan));
    infer_fixture_deinit(&fixture);
    return plan->in_place;
}

/* Declared pairs whose extents agree, no others. */
static void test_plan_in_place_needs_equal_extents(void **state) {
    (void)state;
    assert_int_equal(pairs("Add", NULL, "float32[4] float32[4]"), 3);
    assert_int_equal(pairs("Add", NULL, "float32[4] float32[1]"), 1);
    assert_int_equal(pairs("Add", NULL, "float32[1] float32[4]"), 2);
    assert_int_equal(pairs("Greater", NULL, "float32[4] float32[4]"), 0);
    assert_int_equal(pairs("Greater", NULL, "int8[4] int8[1]"), 1);
    assert_int_equal(pairs("Cast", "{to=int32}", "float32[4]"), 1);
    assert_int_equal(pairs("Cast", "{to=float16}", "float32[4]"), 0);
    assert_int_equal(pairs("Where", NULL, "bool[4] float32[4] float32[4]"), 6);
    assert_int_equal(pairs("FusedMatMul", NULL, "float32[2,3] float32[3,4] - float32[2,4]"), 8);
    assert_int_equal(pairs("Reshape", NULL, "float32[4] int64[1]=4"), 0);
    assert_int_equal(pairs("Concat", "{axis=0}", "float32[4]"), 0);
}

static void test_plan_request_input_bytes_are_those_of_a_launch(void **state) {
    (void)state;
    static const uint64_t expected[] = {24, 0, 0};
    InferFixture fixture;
    uint64_t bytes;
    infer_fixture_init(&fixture, "Clip", NULL, "float32[2,3] - float32[]", 1);
    assert_ok(plan_request_input_bytes(&fixture.request, 0, &bytes));
    assert_int_equal(bytes, 24);
    assert_ok(plan_request_input_bytes(&fixture.request, 1, &bytes));
    assert_int_equal(bytes, 0);
    assert_ok(plan_request_input_bytes(&fixture.request, 2, &bytes));
    assert_int_equal(bytes, 4);
    infer_fixture_deinit(&fixture);
    infer_fixture_init(&fixture, "Slice", NULL, "float32[2,3] int64[1]=0 int64[1]=1", 1);
    for (uint32_t i = 0; i < 3; i++) {
        assert_ok(plan_request_input_bytes(&fixture.request, i, &bytes));
        assert_int_equal(bytes, expected[i]);
    }
    infer_fixture_deinit(&fixture);
}

static void test_plan_create_view_launches_nothing(void **state) {
    (void)state;
    InferFixture fixture;
    OWN(Plan, plan) = NULL;
    infer_fixture_init(&fixture, "Reshape", NULL, "float32[4] int64[2]=2,2", 1);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(plan_create_view(device_host(), &fixture.request, &plan));
    assert_true(plan->view);
    assert_null(plan->launch);
    infer_fixture_deinit(&fixture);
}

int test_plan(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_copies_the_outputs_and_clears_the_state),
        cmocka_unit_test(test_plan_in_place_needs_equal_extents),
        cmocka_unit_test(test_plan_request_input_bytes_are_those_of_a_launch),
        cmocka_unit_test(test_plan_create_view_launches_nothing),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
