#include "base/allocator.h"
#include "kernels/operator/attributes.h"
#include "tests/support/test_support.h"

static Error *round_trip(const char *text, char **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_parse(&text, &attributes));
    TextBuilder OWN_TEXT(printed) = {0};
    attributes_print(attributes, &printed);
    return text_builder_take(&printed, out);
}

static void test_attributes_text_prints_what_it_read(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{}",
        "{axis=1, perm=[0, 2, 1], mode=\"constant\"}",
        "{alpha=0.1, beta=1.0, gamma=1e-05, low=-inf, big=1e+300, third=0.3333333333333333}",
        "{to=float8e4m3fn, dtype=int4}",
        "{text=\"a\\\"b\\\\c\\x01\\x7f\"}",
        "{list=[], names=[\"a\", \"b, c]\"], numbers=[0.5, -2.0, nan]}",
        "{value=tensor(float32, [1, 2], \"0000803f00000040\"), empty=tensor(int64, [0], \"\")}",
        "{least=-9223372036854775808, most=9223372036854775807}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char *printed = NULL;
        assert_ok(round_trip(texts[i], &printed));
        assert_string_equal(printed, texts[i]);
        memory_free(printed);
    }
}

/* A float32 keeps its short form; every double comes back. */
static void test_attributes_text_floats_are_exact(void **state) {
    (void)state;
    uint64_t seed = 7;
    for (int i = 0; i < 2000; i++) {
        uint64_t bits = test_random(&seed);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (value != value) continue;
        OWN(Attributes, attributes) = NULL;
        OWN(Attributes, back) = NULL;
        TextBuilder OWN_TEXT(printed) = {0};
        assert_ok(attributes_create(&attributes));
        assert_ok(attributes_set_float(attributes, "x", value));
        attributes_print(attributes, &printed);
        const char *at = text_builder_get(&printed);
        assert_ok(attributes_parse(&at, &back));
        assert_true(attributes_equal(attributes, back));
    }
}

static void test_attributes_text_moves_behind_the_brace(void **state) {
    (void)state;
    OWN(Attributes, attributes) = NULL;
    const char *text = "  { axis = 1 ,\n to=int8 } rest";
    assert_ok(attributes_parse(&text, &attributes));
    assert_string_equal(text, " rest");
}

static void test_attributes_text_refuses_with_a_reason(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "end where '{' should stand"},
        {"axis=1", "'a' where '{' should stand"},
        {"{axis=1", "end where ',' should stand"},
        {"{axis 1}", "'1' where '=' should stand"},
        {"{axis=1, axis=2}", "attribute axis twice"},
        {"{axis=one}", "\"one\" is not a value"},
        {"{axis=1x}", "\"1x\" is not a value"},
        {"{axis=[1, 2.5]}", "mixed"},
        {"{axis=[1 2]}", "'2' where ',' should stand"},
        {"{axis=[float32]}", "unlistable"},
        {"{axis=[[1]]}", "where a word should stand"},
        {"{mode=\"open", "does not end"},
        {"{mode=\"\\q\"}", "wrong escape"},
        {"{mode=\"\\x00\"}", "\\x escape"},
        {"{mode=\"\\x\"}", "\\x escape"},
        {"{v=tensor(float31, [1], \"00000000\")}", "is not an element type"},
        {"{v=tensor(float32, [1], \"000000\")}", "has 6 digits"},
        {"{v=tensor(float32, [4611686018427387904, 4], \"\")}", "2^62"},
        {"{v=tensor(float32, [-1], \"\")}", "dimension 0 is -1"},
        {"{v=tensor(string, [1], \"\")}", "no fixed size"},
        {"{=1}", "where a word should stand"},
        {"{a b=1}", "'b' where '=' should stand"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        Attributes *attributes = NULL;
        const char *at = rows[i].text;
        assert_fails_saying(INVALID, rows[i].message, attributes_parse(&at, &attributes));
        assert_null(attributes);
        assert_ptr_equal(at, rows[i].text);
    }
}

int test_attributes_text(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attributes_text_prints_what_it_read),
        cmocka_unit_test(test_attributes_text_floats_are_exact),
        cmocka_unit_test(test_attributes_text_moves_behind_the_brace),
        cmocka_unit_test(test_attributes_text_refuses_with_a_reason),
    };
    return cmocka_run_group_tests_name("attributes_text", tests, NULL, NULL);
}
