#include "kernels/shape_rules/operator_infer.h"

#include "tests/kernels/fixtures/infer_fixture.h"

/* A row of the table without a rule would crash the first call. */
static void test_operator_infer_has_a_rule_for_each_operator(void **state) {
    (void)state;
    for (uint32_t id = 1; id < OPERATOR_COUNT; id++) {
        assert_non_null(operator_rules[id]);
        assert_true(operator_get((OperatorId)id)->infer == operator_rules[id]);
    }
}

static void test_operator_infer_checks_the_call(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"Add", NULL, "float32[2]", "! Add: 1 inputs"},
        {"Add", NULL, "float32[2] float32[2] float32[2]", "! Add: 3 inputs"},
        {"Add", NULL, "float32[2] -", "! Add: input 1 is missing"},
        {"Add", NULL, "float32[-2] float32[2]", "! Add: input 0: dimension 0 is -2"},
        {"Reshape", NULL, "float32[2] int64[1]", "! the value of input 1 is not known"},
        {"Reshape", NULL, "float32[] int64[0]", "float32[]"},
        {"Squeeze", NULL, "float32[1]", "float32[]"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_operator_infer_refuses_too_many_outputs(void **state) {
    (void)state;
    InferFixture fixture;
    infer_fixture_init(&fixture, "Neg", NULL, "float32[2]", 2);
    assert_fails_saying(INVALID, "Neg: 2 outputs", operator_infer(&fixture.request));
    fixture.request.output_count = 0;
    assert_fails_saying(INVALID, "Neg: 0 outputs", operator_infer(&fixture.request));
    fixture.specs[0].dtype = (DType)1234;
    fixture.request.output_count = 1;
    assert_fails_saying(INVALID, "no element type", operator_infer(&fixture.request));
    fixture.specs[0] = (TensorSpec){.present = true, .dtype = DTYPE_INT8, .shape = {.rank = 99}};
    assert_fails_saying(INVALID, "rank 99", operator_infer(&fixture.request));
    infer_fixture_deinit(&fixture);
}

int test_operator_infer(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operator_infer_has_a_rule_for_each_operator),
        cmocka_unit_test(test_operator_infer_checks_the_call),
        cmocka_unit_test(test_operator_infer_refuses_too_many_outputs),
    };
    return cmocka_run_group_tests_name("operator_infer", tests, NULL, NULL);
}
