#include "kernels/operator/operator_strings.h"

#include "tests/support/test_support.h"

/* to: of Cast; NONE for the others. */
static OperatorStrings of(OperatorId id, DType to, uint32_t result) {
    OWN(Attributes, attributes) = NULL;
    assert_ok(attributes_create(&attributes));
    if (to != DTYPE_NONE) assert_ok(attributes_set_dtype(attributes, "to", to));
    return operator_strings(operator_get(id), attributes, result);
}

static void test_operator_strings_of_each_kind(void **state) {
    (void)state;
    assert_int_equal(of(OPERATOR_CAST, DTYPE_STRING, 0), OPERATOR_STRINGS_ALWAYS);
    assert_int_equal(of(OPERATOR_CAST, DTYPE_FLOAT32, 0), OPERATOR_STRINGS_NEVER);
    assert_int_equal(of(OPERATOR_CAST_LIKE, DTYPE_NONE, 0), OPERATOR_STRINGS_AS_INPUT_1);
    assert_int_equal(of(OPERATOR_GATHER, DTYPE_NONE, 0), OPERATOR_STRINGS_AS_INPUTS);
    assert_int_equal(of(OPERATOR_UNIQUE, DTYPE_NONE, 0), OPERATOR_STRINGS_AS_INPUTS);
    assert_int_equal(of(OPERATOR_UNIQUE, DTYPE_NONE, 3), OPERATOR_STRINGS_NEVER);
    assert_int_equal(of(OPERATOR_STRING_SPLIT, DTYPE_NONE, 1), OPERATOR_STRINGS_NEVER);
    assert_int_equal(of(OPERATOR_EQUAL, DTYPE_NONE, 0), OPERATOR_STRINGS_NEVER);
    assert_int_equal(of(OPERATOR_SHAPE, DTYPE_NONE, 0), OPERATOR_STRINGS_NEVER);
}

int test_operator_strings(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operator_strings_of_each_kind),
    };
    return cmocka_run_group_tests_name("operator_strings", tests, NULL, NULL);
}
