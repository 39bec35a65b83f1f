#include "tests/kernels/fixtures/infer_fixture.h"

#include "kernels/shape_rules/shape_rules_internal.h"

static void test_rule_set_ignores_outputs_that_are_not_wanted(void **state) {
    (void)state;
    InferFixture fixture;
    Shape shape = {.rank = 1, .dims = {4}};
    infer_fixture_init(&fixture, "Dropout", NULL, "float32[4]", 1);
    rule_set(&fixture.request, 0, DTYPE_INT8, &shape);
    rule_set(&fixture.request, 1, DTYPE_INT8, &shape);
    assert_true(fixture.request.outputs[0].present);
    assert_false(fixture.request.outputs[1].present);
    infer_fixture_deinit(&fixture);
}

static void test_rule_push_stops_at_the_highest_rank(void **state) {
    (void)state;
    Shape shape = {0};
    for (int64_t i = 0; i < SHAPE_RANK_MAX; i++) assert_ok(rule_push(&shape, i));
    assert_fails(INVALID, rule_push(&shape, 1));
    assert_int_equal(shape.rank, SHAPE_RANK_MAX);
}

static void test_rule_checks_pass_over_absent_inputs(void **state) {
    (void)state;
    InferFixture fixture;
    infer_fixture_init(&fixture, "Clip", NULL, "float32[4] - float32[]", 1);
    assert_ok(rule_check_dtype(&fixture.request, 1, 0));
    assert_ok(rule_check_same_dtype(&fixture.request, 1, 0));
    assert_ok(rule_check_rank(&fixture.request, 1, 7));
    assert_ok(rule_check_rank(&fixture.request, 9, 7));
    assert_fails_saying(
        INVALID, "input 2 has rank 0, not 7", rule_check_rank(&fixture.request, 2, 7));
    infer_fixture_deinit(&fixture);
}

int test_shape_rules(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule_set_ignores_outputs_that_are_not_wanted),
        cmocka_unit_test(test_rule_push_stops_at_the_highest_rank),
        cmocka_unit_test(test_rule_checks_pass_over_absent_inputs),
    };
    return cmocka_run_group_tests_name("shape_rules", tests, NULL, NULL);
}
