#include "kernels/operator_expansion.h"

#include "tests/kernels/infer_fixture.h"

/* "MatMul(0 1) Add(2 3)": operators and the values they take. */
static void print_nodes(const Expansion *expansion, TextBuilder *out) {
    for (uint32_t i = 0; i < expansion->node_count; i++) {
        const ExpansionNode *node = &expansion->nodes[i];
        text_appendf(out, "%s%s(", i ? " " : "", node->operator_info->name);
        for (uint32_t j = 0; j < node->input_count; j++)
            text_appendf(out, "%s%u", j ? " " : "", node->inputs[j]);
        text_append(out, ")");
    }
}

static void test_expansions_are_the_operators_they_stand_for(void **state) {
    (void)state;
    static const struct {
        const char *name, *attributes, *inputs, *nodes;
    } rows[] = {
        {"FusedMatMul", "{activation=\"gelu_erf\"}", "float32[2,3] float32[3,4] float32[4]",
            "MatMul(0 1) Add(3 2) Gelu(4)"},
        {"FusedMatMul", "{alpha=0.5, transB=1}", "float32[2,3] float32[4,3] - float32[2,4]",
            "Transpose(1) MatMul(0 5) Mul(6 4) Add(7 3)"},
        {"FusedConv", "{activation=\"clip\", activation_beta=6.0}",
            "float32[1,3,5,5] float32[4,3,3,3]", "Conv(0 1) Clip(4 2 3)"},
        {"FusedConv", "{}", "float32[1,3,5,5] float32[4,3,3,3] float32[4] float32[1,4,3,3]",
            "Conv(0 1 2) Add(4 3)"},
        {"FusedElementwise", "{program=\"Mul i0 c0; Add r0 i1\", constants=[2.0]}",
            "float32[2,3] float32[3]", "Mul(0 2) Add(3 1)"},
        {"FusedAttention", "{}", "float32[5,8] float32[7,8] float32[7,6] float32[7]",
            "Transpose(1) MatMul(0 5) Mul(6 4) Add(7 3) Softmax(8) MatMul(9 2)"},
        {"FusedAttention", "{key_rows_first=1, value_rows_first=1}",
            "float32[2,5,8] float32[7,2,8] float32[7,2,6]",
            "Transpose(1) Transpose(2) MatMul(0 4) Mul(6 3) Softmax(7) MatMul(8 5)"},
        {"Append", "{axis=1}", "float32[2,3] float32[2,1]", "Concat(0 1)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        InferFixture fixture;
        OWN(Expansion, expansion) = NULL;
        TextBuilder OWN_TEXT(text) = {0};
        infer_fixture_init(&fixture, rows[i].name, rows[i].attributes, rows[i].inputs, 1);
        assert_ok(operator_expansion_create(&fixture.request, &expansion));
        print_nodes(expansion, &text);
        assert_string_equal(text_builder_get(&text), rows[i].nodes);
        infer_fixture_deinit(&fixture);
    }
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

int test_operator_expansion(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expansions_are_the_operators_they_stand_for),
        cmocka_unit_test(test_operators_without_expansion_say_so),
    };
    return cmocka_run_group_tests_name("operator_expansion", tests, NULL, NULL);
}
