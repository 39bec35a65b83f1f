#include "compiler/nnvm/nnvm_operators.h"

#include "tests/compiler/nnvm_run.h"
#include "tests/support/test_support.h"

static void test_nnvm_operators_have_inputs_of_kinds(void **state) {
    (void)state;
    const NnvmOperator *row;
    assert_ok(nnvm_operator_find("Convolution", &row));
    assert_int_equal(nnvm_operator_input(row, 0), 'd');
    assert_int_equal(nnvm_operator_input(row, 2), 'w');
    assert_int_equal(nnvm_operator_input(row, 3), 0);
    assert_ok(nnvm_operator_find("Concat", &row));
    assert_int_equal(nnvm_operator_input(row, 900), 'd');
    assert_ok(nnvm_operator_find("SoftmaxOutput", &row));
    assert_int_equal(nnvm_operator_input(row, 1), 'l');
}

static void test_nnvm_operators_refuse_wrong_nodes(void **state) {
    (void)state;
    nnvm_refused(
        UNSUPPORTED, "node 1: n1 (magic): the operator magic is not known", "null; magic 0");
    nnvm_refused(UNSUPPORTED, "the attribute speed is not known", "null; relu 0 speed=2");
    nnvm_refused(INVALID, "node 1: n1 (relu): 2 inputs are too many", "null; relu 0 0");
    nnvm_refused(INVALID, "1 inputs; 2 are wanted", "null; elemwise_add 0");
}

int test_nnvm_operators(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nnvm_operators_have_inputs_of_kinds),
        cmocka_unit_test(test_nnvm_operators_refuse_wrong_nodes),
    };
    return cmocka_run_group_tests_name("nnvm_operators", tests, NULL, NULL);
}
