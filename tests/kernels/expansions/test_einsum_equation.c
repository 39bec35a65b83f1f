#include "kernels/expansions/einsum_equation.h"

#include "tests/support/test_support.h"

static void append_term(TextBuilder *out, const EinsumTerm *term) {
    for (uint32_t i = 0; i < term->rank; i++)
        if (term->labels[i] < EINSUM_LETTERS)
            text_appendf(out, "%c", einsum_label_letter(term->labels[i]));
        else
            text_appendf(out, "%d", term->labels[i] - EINSUM_LETTERS);
}

/* Labels of the ellipsis as digits, counted from its last dimension. */
static void test_equations_give_each_dimension_a_label(void **state) {
    (void)state;
    static const struct {
        const char *text, *labels;
        uint32_t ranks[3], count;
    } rows[] = {
        {"ij,jk->ik", "ij,jk->ik", {2, 2}, 2},
        {" i j , jk -> i k ", "ij,jk->ik", {2, 2}, 2},
        {"ba", "ba->ab", {2}, 1},
        {"aB", "aB->Ba", {2}, 1},
        {"ij,jk", "ij,jk->ik", {2, 2}, 2},
        {"ii", "ii->", {2}, 1},
        {"...ij,j...", "10ij,j0->10i", {4, 2}, 2},
        {"i...->...", "i210->210", {4}, 1},
        {"...,...->...", "10,->10", {2, 0}, 2},
        {",->", ",->", {0, 0}, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        EinsumEquation equation;
        TextBuilder OWN_TEXT(text) = {0};
        assert_ok(einsum_equation_parse(rows[i].text, rows[i].ranks, rows[i].count, &equation));
        for (uint32_t j = 0; j < equation.operand_count; j++) {
            if (j > 0) text_append(&text, ",");
            append_term(&text, &equation.operands[j]);
        }
        text_append(&text, "->");
        append_term(&text, &equation.result);
        assert_string_equal(text_builder_get(&text), rows[i].labels);
    }
}

static void test_equations_are_refused_with_the_place(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
        uint32_t ranks[3], count;
    } rows[] = {
        {"ij,j1->i", "no letter at position 4 ('1')", {2, 2}, 2},
        {"i.j->i", "no letter at position 1 ('.')", {2}, 1},
        {"i......->i", "a second ellipsis in a term at position 4 ('.')", {2}, 1},
        {"ij->i", "the term at position 0 has 2 letters, operand 0 has rank 3", {3}, 1},
        {"ij,jk->ik", "the term at position 3 has 2 letters, operand 1 has rank 1", {2, 1}, 2},
        {"ij->i", "a term is missing at position 2 ('-')", {2, 2}, 2},
        {"i", "a term is missing at position 1", {1, 1}, 2},
        {"i,j->i", "more terms than operands at position 1 (',')", {1}, 1},
        {"i-i", "neither \",\" nor \"->\" at position 1 ('-')", {1}, 1},
        {"i->i->i", "something behind the result at position 4 ('-')", {1}, 1},
        {"i->i,i", "something behind the result at position 4 (',')", {1}, 1},
        {"i->j", "'j' of the result is in no operand", {1}, 1},
        {"ij->ii", "'i' twice in the result", {2}, 1},
        {"...i->i", "the result lacks the ellipsis of the operands", {3}, 1},
        {"abcdefghi->a", "a term of too many dimensions at position 8 ('i')", {8}, 1},
        {"abcde,fghij", "a result of 10 dimensions", {5, 5}, 2},
        {"...abc,defgh->...abcdefgh", "the term at position 14 has more than 8 dimensions", {4, 5},
            2},
        {"i\x80->i", "no letter at position 1", {1}, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        EinsumEquation equation;
        assert_fails_saying(INVALID, rows[i].message,
            einsum_equation_parse(rows[i].text, rows[i].ranks, rows[i].count, &equation));
    }
    uint32_t ranks[EINSUM_OPERANDS_MAX + 1] = {0};
    EinsumEquation equation;
    assert_fails_saying(UNSUPPORTED, "65 operands, more than 64",
        einsum_equation_parse("", ranks, EINSUM_OPERANDS_MAX + 1, &equation));
}

int test_einsum_equation(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equations_give_each_dimension_a_label),
        cmocka_unit_test(test_equations_are_refused_with_the_place),
    };
    return cmocka_run_group_tests_name("einsum_equation", tests, NULL, NULL);
}
