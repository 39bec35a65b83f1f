#include "kernels/operator/attributes_internal.h"
#include "tests/support/test_support.h"

static Error *check(const char *operator_name, const char *text) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_parse(&text, &attributes));
    return attributes_check(attributes, operator_find(operator_name));
}

static void test_attributes_check_names_what_is_wrong(void **state) {
    (void)state;
    assert_fails_saying(INVALID, "Concat: attribute axis is missing", check("Concat", "{}"));
    assert_fails_saying(
        INVALID, "Concat: unknown attribute axes", check("Concat", "{axis=1, axes=2}"));
    assert_fails_saying(
        INVALID, "attribute axis is a float, not an integer", check("Concat", "{axis=1.0}"));
    assert_fails_saying(INVALID, "attribute perm is a list of floats, not a list of integers",
        check("Transpose", "{perm=[1.5]}"));
    assert_fails_saying(INVALID, "attribute to is a text", check("Cast", "{to=\"float32\"}"));
    assert_ok(check("Cast", "{to=float32}"));
}

/* The text form of an empty list does not say of what. */
static void test_attributes_check_takes_an_empty_list_for_any_kind(void **state) {
    (void)state;
    assert_ok(check("FusedElementwise", "{program=\"Neg i0\", constants=[]}"));
    assert_ok(check("LSTM", "{activations=[]}"));
}

static void test_attributes_check_puts_entries_into_declared_order(void **state) {
    (void)state;
    const char *one = "{transB=1, alpha=2.0}", *two = "{alpha=2.0, transB=1, beta=1.0}";
    OWN(Attributes, a) = NULL;
    OWN(Attributes, b) = NULL;
    assert_ok(attributes_parse(&one, &a));
    assert_ok(attributes_parse(&two, &b));
    assert_false(attributes_equal(a, b));
    assert_ok(attributes_check(a, operator_find("Gemm")));
    assert_ok(attributes_check(b, operator_find("Gemm")));
    assert_true(attributes_equal(a, b));
    assert_true(attributes_hash(a) == attributes_hash(b));
    assert_ok(attributes_check(a, operator_find("Gemm")));
    assert_true(attributes_equal(a, b));
}

/* Every row's declaration string can be read, and its defaults are of their kind. */
static void test_attributes_of_every_operator_are_well_declared(void **state) {
    (void)state;
    for (uint32_t id = 1; id < OPERATOR_COUNT; id++) {
        const OperatorInfo *info = operator_get((OperatorId)id);
        AttributeDeclaration declaration;
        char last[ATTRIBUTE_NAME_MAX] = "";
        uint32_t count = 0;
        for (const char *at = info->attributes; attribute_declaration_next(&at, &declaration);) {
            assert_non_null(strchr("ifsdIFSt", (char)declaration.kind));
            assert_true(strcmp(last, declaration.name) != 0);
            memcpy(last, declaration.name, sizeof last);
            count++;
        }
        assert_true(count <= ATTRIBUTES_COUNT_MAX);
        Error *error = check(info->name, "{}");
        assert_true(!error || strstr(error_message(error), "is missing"));
        error_free(error);
    }
}

int test_attributes_check(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attributes_check_names_what_is_wrong),
        cmocka_unit_test(test_attributes_check_takes_an_empty_list_for_any_kind),
        cmocka_unit_test(test_attributes_check_puts_entries_into_declared_order),
        cmocka_unit_test(test_attributes_of_every_operator_are_well_declared),
    };
    return cmocka_run_group_tests_name("attributes_check", tests, NULL, NULL);
}
