#include "compiler/relay/text/relay_tree.h"

#include "base/text.h"
#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

/* Limits of nesting are errors with a place, whatever is nested. */
static void test_relay_tree_refuses_deep_nesting(void **state) {
    (void)state;
    static const char *const parts[][4] = {{"(", "1", ")", "nested deeper than "},
        {"negative(", "1", ")", "nested deeper than "}, {"{", "1", "}", "is wanted, not {"},
        {"fn (%x) { ", "1", "}", "nested deeper than "}, {"", "1", " + 1", "nested deeper than "},
        {"", "%x", ".0", "nested deeper than 256"},
        {"if (True) { ", "1", "} else { 2 }", "nested deeper than "},
        {"let %y = ", "1", "; 2", "nested deeper than "},
        {"match (1) { _ => ", "1", "}", "nested deeper than "}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        TextBuilder OWN_TEXT(text) = {0};
        text_append(&text, "def @main(%x: (int32,)) { ");
        for (uint32_t k = 0; k < 100000; k++) text_append(&text, parts[i][0]);
        text_append(&text, parts[i][1]);
        for (uint32_t k = 0; k < 100000; k++) text_append(&text, parts[i][2]);
        text_append(&text, " }");
        relay_refused(INVALID, parts[i][3], text_builder_get(&text));
    }
}

int test_relay_tree(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_tree_refuses_deep_nesting),
    };
    return cmocka_run_group_tests_name("relay_tree", tests, NULL, NULL);
}
