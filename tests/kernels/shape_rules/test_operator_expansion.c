#include "kernels/shape_rules/operator_expansion.h"

#include "base/allocator.h"
#include "tests/kernels/fixtures/infer_fixture.h"

/* What operators.def says for people and what expansions.def builds. */
static void test_the_rows_that_stand_for_others_are_those_that_expand(void **state) {
    (void)state;
    for (uint32_t id = OPERATOR_NONE + 1; id < OPERATOR_COUNT; id++) {
        const OperatorInfo *info = operator_get((OperatorId)id);
        if ((info->expansion[0] != 0) != operator_expansion_exists((OperatorId)id))
            fail_msg("%s: operators.def and expansions.def differ", info->name);
    }
    assert_false(operator_expansion_exists(OPERATOR_COUNT));
}

static void test_operators_without_expansion_say_so(void **state) {
    (void)state;
    InferFixture fixture;
    Expansion *expansion = NULL;
    infer_fixture_init(&fixture, "Neg", NULL, "float32[2]", 1);
    assert_fails_saying(UNSUPPORTED, "Neg has no expansion",
        operator_expansion_create(&fixture.request, &expansion));
    assert_null(expansion);
    infer_fixture_deinit(&fixture);
}

/* With the constants that its rule reads by value. */
static void test_a_nodes_request_is_what_it_was_inferred_from(void **state) {
    (void)state;
    InferFixture fixture;
    OWN(Expansion, expansion) = NULL;
    PlanRequest *request;
    infer_fixture_init(&fixture, "CausalConvWithState", NULL, "float32[2,3,5] float32[3,1,4]", 2);
    assert_ok(operator_expansion_create(&fixture.request, &expansion));
    const ExpansionNode *pad = &expansion->nodes[0];
    assert_int_equal(pad->operator_info->id, OPERATOR_PAD);
    assert_ok(operator_expansion_request(expansion, pad, &request));
    assert_int_equal(request->input_count, 2);
    assert_null(request->values[0]);
    assert_int_equal(((const int64_t *)request->values[1])[2], 3);
    assert_int_equal(request->outputs[0].shape.dims[2], 8);
    memory_free(request);
    infer_fixture_deinit(&fixture);
}

int test_operator_expansion(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_rows_that_stand_for_others_are_those_that_expand),
        cmocka_unit_test(test_operators_without_expansion_say_so),
        cmocka_unit_test(test_a_nodes_request_is_what_it_was_inferred_from),
    };
    return cmocka_run_group_tests_name("operator_expansion", tests, NULL, NULL);
}
