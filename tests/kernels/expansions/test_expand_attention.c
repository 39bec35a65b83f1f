#include "tests/kernels/fixtures/expansion_text.h"

static void test_fused_attention_turns_its_keys(void **state) {
    (void)state;
    static const ExpansionRow rows[] = {
        {"FusedAttention", "{}", "float32[5,8] float32[7,8] float32[7,6] float32[7]", 1,
            "Transpose(1) MatMul(0 4) Mul(6 5) Add(7 3) Softmax(8) MatMul(9 2) -> 10"},
        {"FusedAttention", "{key_rows_first=1, value_rows_first=1}",
            "float32[2,5,8] float32[7,2,8] float32[7,2,6]", 1,
            "Transpose(1) Transpose(2) MatMul(0 3) Mul(6 5) Softmax(7) MatMul(8 4) -> 9"},
    };
    static const InferRow refused[] = {
        {"FusedAttention", "{key_rows_first=1, transposed_key=1}",
            "float32[2,5,8] float32[7,2,8] float32[2,7,6]",
            "! a key both transposed and with its rows first"},
    };
    expansion_text_check(rows, sizeof rows / sizeof rows[0]);
    infer_fixture_check(refused, sizeof refused / sizeof refused[0]);
}

/* Operator names of an expansion, each once. */
static bool expansion_has(
    const char *attributes, const char *inputs, uint32_t output_count, OperatorId id) {
    InferFixture fixture;
    OWN(Expansion, expansion) = NULL;
    bool found = false;
    infer_fixture_init(&fixture, "Attention", attributes, inputs, output_count);
    assert_ok(operator_expansion_create(&fixture.request, &expansion));
    for (uint32_t i = 0; i < expansion->node_count; i++)
        found = found || expansion->nodes[i].operator_info->id == id;
    infer_fixture_deinit(&fixture);
    return found;
}

static void test_attention_is_fused_unless_its_steps_are_asked_for(void **state) {
    (void)state;
    static const char plain[] = "float16[2,4,3,8] float16[2,2,5,8] float16[2,2,5,6]";
    static const char masked[] = "float16[2,4,3,8] float16[2,2,5,8] float16[2,2,5,6] bool[3,5]";
    const OperatorId fused = OPERATOR_FUSED_ATTENTION;
    assert_true(expansion_has("{}", plain, 1, fused));
    assert_true(expansion_has("{is_causal=1}", plain, 3, fused));
    assert_true(expansion_has("{softmax_precision=float32}", masked, 1, fused));
    assert_false(expansion_has("{softmax_precision=float64}", plain, 1, fused));
    assert_false(expansion_has("{softcap=2.0}", plain, 1, fused));
    assert_false(expansion_has("{}", plain, 4, fused));
}

/* The guard costs a look at the bias, which is spared where no row can be hidden. */
static void test_attention_guards_rows_that_may_see_nothing(void **state) {
    (void)state;
    static const char plain[] = "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6]";
    static const char masked[] = "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6] bool[3,5]";
    assert_false(expansion_has("{}", plain, 1, OPERATOR_REDUCE_MAX));
    assert_false(expansion_has("{is_causal=1}", plain, 1, OPERATOR_REDUCE_MAX));
    assert_true(expansion_has("{}", masked, 1, OPERATOR_REDUCE_MAX));
    assert_true(expansion_has("{left_window_size=1}", plain, 1, OPERATOR_REDUCE_MAX));
}

int test_expand_attention(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fused_attention_turns_its_keys),
        cmocka_unit_test(test_attention_is_fused_unless_its_steps_are_asked_for),
        cmocka_unit_test(test_attention_guards_rows_that_may_see_nothing),
    };
    return cmocka_run_group_tests_name("expand_attention", tests, NULL, NULL);
}
