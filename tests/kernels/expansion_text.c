#include "tests/kernels/expansion_text.h"

static void print(const Expansion *expansion, TextBuilder *out) {
    for (uint32_t i = 0; i < expansion->node_count; i++) {
        const ExpansionNode *node = &expansion->nodes[i];
        text_appendf(out, "%s(", node->operator_info->name);
        for (uint32_t j = 0; j < node->input_count; j++)
            if (node->inputs[j] == EXPANSION_ABSENT)
                text_appendf(out, "%s-", j ? " " : "");
            else
                text_appendf(out, "%s%u", j ? " " : "", node->inputs[j]);
        text_append(out, ") ");
    }
    text_append(out, "->");
    for (uint32_t i = 0; i < expansion->output_count; i++)
        text_appendf(out, " %u", expansion->outputs[i]);
}

void expansion_text_check(const ExpansionRow *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        InferFixture fixture;
        OWN(Expansion, expansion) = NULL;
        TextBuilder OWN_TEXT(text) = {0};
        infer_fixture_init(&fixture, rows[i].name, rows[i].attributes, rows[i].inputs,
            rows[i].output_count ? rows[i].output_count : 1);
        assert_ok(operator_expansion_create(&fixture.request, &expansion));
        print(expansion, &text);
        assert_string_equal(text_builder_get(&text), rows[i].expected);
        infer_fixture_deinit(&fixture);
    }
}
