#include "tests/vm/relax/relax_case_runner.h"

static void test_relax_checks_answer_as_tvm(void **state) {
    (void)state;
    relax_cases_run("checks");
}

static void test_relax_checks_name_their_context(void **state) {
    (void)state;
    const int64_t dims[] = {2};
    relax_refuses("ErrorContext(fn=main): the tensor has 1 dimensions, not 3",
        "vm.builtin.check_tensor_info",
        RELAX_ARGUMENTS(relax_floats(1, dims, (float[]){1, 2}), value_int(3),
            value_dtype(DTYPE_FLOAT32), relax_string("ErrorContext(fn=main) ")));
    relax_refuses("fn: the tensor is float32, not int8", "vm.builtin.check_tensor_info",
        RELAX_ARGUMENTS(relax_floats(1, dims, (float[]){1, 2}), value_int(-1),
            value_dtype(DTYPE_INT8), relax_string("fn")));
    relax_refuses("the value is a nil, not a tensor", "vm.builtin.check_tensor_info",
        RELAX_ARGUMENTS(value_nil(), value_int(-1), value_nil()));
    relax_refuses("fn: the shape has 1 dimensions, not 9", "vm.builtin.check_shape_info",
        RELAX_ARGUMENTS(relax_shape(1, dims), value_int(9), relax_string("fn")));
    relax_refuses("fn: the value is a int, not a function", "vm.builtin.check_func_info",
        RELAX_ARGUMENTS(value_int(9), relax_string("fn")));
    relax_refuses("fn: there are no scalars of type string", "vm.builtin.check_prim_value_info",
        RELAX_ARGUMENTS(value_int(9), value_dtype(DTYPE_STRING), relax_string("fn")));
    relax_refuses("argument 2 is a int, not an element type", "vm.builtin.check_tensor_info",
        RELAX_ARGUMENTS(value_int(9), value_int(1), value_int(1), relax_string("fn")));
    relax_refuses("5 arguments; there may be 4", "vm.builtin.check_tensor_info",
        RELAX_ARGUMENTS(value_nil(), value_int(1), value_nil(), value_nil(), value_nil()));
}

int test_relax_checks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_checks_answer_as_tvm),
        cmocka_unit_test(test_relax_checks_name_their_context),
    };
    return cmocka_run_group_tests_name("relax_checks", tests, NULL, NULL);
}
