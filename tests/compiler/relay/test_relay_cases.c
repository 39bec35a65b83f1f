#include "compiler/relay/relay_cases.h"

#include "base/text.h"
#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

/* Tuples of many constructors have as many cases as there are combinations. */
static void test_relay_cases_are_bounded(void **state) {
    (void)state;
    enum { COLUMNS = 40 };
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, "type B { X, Y }\ndef @f(%b: B) -> int32 { match ((%b");
    for (uint32_t i = 1; i < COLUMNS; i++) text_append(&text, ", %b");
    text_append(&text, ")) { ");
    for (uint32_t i = 0; i < COLUMNS; i++) {
        text_append(&text, "(");
        for (uint32_t k = 0; k < COLUMNS; k++)
            text_append(&text, k == i || k == (i * 7 + 3) % COLUMNS ? "X," : "_,");
        text_append(&text, ") => 1, ");
    }
    text_append(&text, "_ => 2 } }\ndef @main() { @f(X) }");
    relay_refused(
        INVALID, "the patterns of the match make too many cases", text_builder_get(&text));
}

int test_relay_cases(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_cases_are_bounded),
    };
    return cmocka_run_group_tests_name("relay_cases", tests, NULL, NULL);
}
