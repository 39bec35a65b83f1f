#include "tests/compiler/nnvm_run.h"
#include "tests/support/test_support.h"

static void test_nnvm_attributes_are_texts_of_python(void **state) {
    (void)state;
    nnvm_expect("null __shape__=(2,2); transpose 0 axes=(1L,0)",
        "float32[2,2] 1 2 3 4 -> float32[2,2] 1 3 2 4");
    nnvm_expect("null __shape__=(2,2); sum 0 axis=[0] keepdims=True",
        "float32[2,2] 1 2 3 4 -> float32[1,2] 4 6");
    nnvm_expect("null __shape__=(2,2); slice 0 begin=(None,1) end=(None,None)",
        "float32[2,2] 1 2 3 4 -> float32[2,1] 2 4");
}

static void test_nnvm_attributes_of_a_wrong_kind_are_named(void **state) {
    (void)state;
    nnvm_refused(INVALID,
        "node 1: n1 (sum): the attribute keepdims is maybe; True or False is wanted",
        "null __shape__=(2,2); sum 0 keepdims=maybe");
    nnvm_refused(INVALID, "the attribute axes: (a,b); a list of integers is wanted",
        "null __shape__=(2,2); transpose 0 axes=(a,b)");
    nnvm_refused(INVALID, "the attribute scalar is x; a number is wanted",
        "null __shape__=(2,2); _plus_scalar 0 scalar=x");
    nnvm_refused(INVALID, "the attribute axis is 1.5; an integer is wanted",
        "null __shape__=(2,2); softmax 0 axis=1.5");
}

int test_nnvm_attributes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nnvm_attributes_are_texts_of_python),
        cmocka_unit_test(test_nnvm_attributes_of_a_wrong_kind_are_named),
    };
    return cmocka_run_group_tests_name("nnvm_attributes", tests, NULL, NULL);
}
