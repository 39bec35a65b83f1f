#include "compiler/passes/precision.h"

#include "tests/support/test_support.h"

static void test_precisions_have_names(void **state) {
    (void)state;
    Precision precision = PRECISION_INT8;
    assert_ok(precision_find(NULL, &precision));
    assert_int_equal(precision, PRECISION_FP32);
    assert_ok(precision_find("fp32", &precision));
    assert_int_equal(precision, PRECISION_FP32);
    assert_ok(precision_find("bf16", &precision));
    assert_int_equal(precision, PRECISION_BF16);
    assert_ok(precision_find("int8", &precision));
    assert_int_equal(precision, PRECISION_INT8);
    assert_fails_saying(USAGE, "fp32, bf16 or int8", precision_find("int4", &precision));
    assert_false(precision_is_lower(NULL));
    assert_false(precision_is_lower("fp32"));
    assert_true(precision_is_lower("bf16"));
    assert_true(precision_is_lower("int4"));
}

static void test_every_reason_says_what_it_is(void **state) {
    (void)state;
    for (uint32_t i = 0; i < PRECISION_LEFT_COUNT; i++) {
        assert_true(*precision_left_name((PrecisionLeft)i));
        assert_true(*precision_left_text((PrecisionLeft)i));
    }
    assert_string_equal(precision_left_name(PRECISION_LEFT_COMPUTED), "computed");
}

int test_precision(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precisions_have_names),
        cmocka_unit_test(test_every_reason_says_what_it_is),
    };
    return cmocka_run_group_tests_name("precision", tests, NULL, NULL);
}
