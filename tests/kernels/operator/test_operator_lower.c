#include "kernels/operator/operator_lower.h"

#include "tests/support/test_support.h"

/* Each is ours, and stands for an operator that is not one of them. */
static void test_operator_lower_names_each_once(void **state) {
    (void)state;
    uint32_t count = 0;
    for (uint32_t id = 1; id < OPERATOR_COUNT; id++) {
        const OperatorLower *lower = operator_lower_get((OperatorId)id);
        if (!lower) {
            assert_int_equal(operator_lower_of((OperatorId)id), id);
            continue;
        }
        count++;
        assert_int_equal(lower->id, id);
        assert_true(operator_is_own(operator_get(lower->id)));
        assert_null(operator_lower_get(lower->of));
        assert_int_equal(operator_lower_of(lower->id), lower->of);
        assert_int_equal(operator_lower_find(lower->of, lower->weights), id);
        assert_true(lower->weights == DTYPE_BFLOAT16 || lower->weights == DTYPE_INT8);
    }
    assert_int_equal(count, 7);
    assert_int_equal(operator_lower_find(OPERATOR_LSTM, DTYPE_INT8), OPERATOR_NONE);
    assert_int_equal(operator_lower_find(OPERATOR_ADD, DTYPE_BFLOAT16), OPERATOR_NONE);
}

int test_operator_lower(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operator_lower_names_each_once),
    };
    return cmocka_run_group_tests_name("operator_lower", tests, NULL, NULL);
}
