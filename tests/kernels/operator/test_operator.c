#include "kernels/operator/operator.h"

#include <math.h>

#include "base/text.h"
#include "kernels/operator/operator_lower.h"
#include "tests/support/test_support.h"

static void test_operator_names_are_found_again(void **state) {
    (void)state;
    for (uint32_t id = 1; id < OPERATOR_COUNT; id++) {
        const OperatorInfo *info = operator_get((OperatorId)id);
        assert_int_equal(info->id, id);
        assert_ptr_equal(operator_find(info->name), info);
    }
    assert_null(operator_find("add"));
    assert_null(operator_find(""));
}

static void test_operator_strings_of_the_table_are_read(void **state) {
    (void)state;
    const OperatorInfo *clip = operator_find("Clip"), *concat = operator_find("Concat");
    assert_int_equal(clip->inputs_min, 1);
    assert_int_equal(clip->inputs_max, 3);
    assert_true(concat->inputs_max == UINT32_MAX);
    assert_int_equal(operator_find("Slice")->value_inputs, 0x1e);
    assert_int_equal(operator_find("Range")->value_inputs, 7);
    assert_int_equal(operator_find("Add")->value_inputs, 0);
    assert_true(operator_find("NonZero")->shape_from_data);
    assert_int_equal(operator_find("RandomUniform")->purity, PURITY_RANDOM);
    assert_int_equal(operator_find("RandomUniform")->inputs_max, 0);
}

static void test_operator_reads_value_of_those_that_the_table_names(void **state) {
    (void)state;
    const OperatorInfo *slice = operator_find("Slice"), *concat = operator_find("Concat");
    for (uint32_t i = 0; i < 256; i++) {
        assert_int_equal(operator_reads_value(slice, i), i >= 1 && i <= 4);
        assert_false(operator_reads_value(concat, i));
    }
}

/* What other code relies on in every row. */
static void test_operator_rows_are_well_formed(void **state) {
    (void)state;
    for (uint32_t id = 1; id < OPERATOR_COUNT; id++) {
        const OperatorInfo *info = operator_get((OperatorId)id);
        assert_true(info->inputs_min <= info->inputs_max && info->outputs_min <= info->outputs_max);
        assert_true(info->outputs_min >= 1 && info->version >= 1);
        assert_true(info->tolerance >= 0 && info->tolerance < 1e-3);
        const bool ours = text_starts_with(info->name, "Fused") || operator_lower_get(info->id) ||
                          info->id == OPERATOR_APPEND || info->id == OPERATOR_TRAINING_DROPOUT;
        assert_int_equal(ours, operator_is_own(info));
        if (strcmp(info->in_place, "view") == 0) continue;
        for (const char *at = info->in_place; *at; at += at[3] == ' ' ? 4 : 3) {
            assert_true(at[0] >= '0' && at[0] <= '7' && at[1] == '<');
            assert_true(at[2] >= '0' && at[2] <= '7' && (at[3] == ' ' || at[3] == 0));
        }
    }
}

int test_operator(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operator_names_are_found_again),
        cmocka_unit_test(test_operator_strings_of_the_table_are_read),
        cmocka_unit_test(test_operator_reads_value_of_those_that_the_table_names),
        cmocka_unit_test(test_operator_rows_are_well_formed),
    };
    return cmocka_run_group_tests_name("operator", tests, NULL, NULL);
}
