#include <string.h>

#include "store/models/model_reference.h"
#include "tests/store/store_fixtures.h"

#define LETTERS_64 "a234567890123456789012345678901234567890123456789012345678901234"

static void test_model_reference_reads_the_three_forms(void **state) {
    (void)state;
    ModelReference reference;
    expect_ok(model_reference_parse("resnet", &reference));
    assert_int_equal(reference.kind, MODEL_REFERENCE_NEWEST);
    assert_string_equal(reference.model, "resnet");
    expect_ok(model_reference_parse("resnet@3", &reference));
    assert_int_equal(reference.kind, MODEL_REFERENCE_VERSION);
    assert_int_equal(reference.version, 3);
    expect_ok(model_reference_parse("resnet@prod", &reference));
    assert_int_equal(reference.kind, MODEL_REFERENCE_ALIAS);
    assert_string_equal(reference.alias, "prod");
    expect_ok(model_reference_parse(LETTERS_64 "@3"
                                               "x",
        &reference));
    assert_string_equal(reference.model, LETTERS_64);
    assert_string_equal(reference.alias, "3x");
}

static void test_model_reference_refuses_what_is_no_reference(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "@", "@3", ".hidden", "a/b", "a b", "a@", "a@0",
        "a@b@c", "a@99999999999999999999", "a@../b", "a@-1", LETTERS_64 "5", "a@" LETTERS_64 "5",
        "a\n", "\xff"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ModelReference reference = {.version = 77};
        Error *error = model_reference_parse(wrong[i], &reference);
        if (error_code(error) != ERROR_INVALID) fail_msg("%s was taken", wrong[i]);
        error_free(error);
        assert_int_equal(reference.version, 77);
    }
}

static void test_model_reference_refuses_numbers_as_aliases(void **state) {
    (void)state;
    expect_ok(model_reference_check_alias("v3"));
    expect_error(model_reference_check_alias("3"), ERROR_INVALID, "alias 3 reads like a version");
    expect_error(model_reference_check_alias("newest"), ERROR_INVALID, "alias newest: the newest");
    expect_error(model_reference_check_alias("a@b"), ERROR_INVALID, "\"a@b\" is no name");
}

TEST_GROUP(model_reference, cmocka_unit_test(test_model_reference_reads_the_three_forms),
    cmocka_unit_test(test_model_reference_refuses_what_is_no_reference),
    cmocka_unit_test(test_model_reference_refuses_numbers_as_aliases))
