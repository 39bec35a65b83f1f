#include "tests/vm/relax/relax_case_runner.h"
#include "vm/objects/closure.h"

static void test_relax_closures_answer_as_tvm(void **state) {
    (void)state;
    relax_cases_run("closures");
}

static void test_relax_closures_refuse_what_is_no_function(void **state) {
    (void)state;
    relax_refuses("argument 1 is a nil, not a function", "vm.builtin.invoke_closure",
        RELAX_ARGUMENTS(value_nil(), value_nil()));
    relax_refuses("argument 1 is missing: a function", "vm.builtin.invoke_closure",
        RELAX_ARGUMENTS(value_nil()));
    Closure *first;
    assert_ok(closure_create(NULL, 0, CLOSURE_FIRST, 1, &first));
    relax_refuses("has bound its first arguments", "vm.builtin.make_closure",
        RELAX_ARGUMENTS(value_object(OBJECT_CLOSURE, first), value_int(1)));
    Closure *many;
    assert_ok(closure_create(NULL, 0, CLOSURE_LAST, 4096, &many));
    relax_refuses("a closure with 4097 bound values", "vm.builtin.make_closure",
        RELAX_ARGUMENTS(value_object(OBJECT_CLOSURE, many), value_int(1)));
}

static void test_relax_closures_limit_the_arguments_of_a_call(void **state) {
    (void)state;
    Closure *many;
    assert_ok(closure_create(NULL, 0, CLOSURE_LAST, 4096, &many));
    relax_refuses("4097 arguments; there may be 4096", "vm.builtin.invoke_closure",
        RELAX_ARGUMENTS(value_nil(), value_object(OBJECT_CLOSURE, many), value_int(1)));
}

int test_relax_closures(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_closures_answer_as_tvm),
        cmocka_unit_test(test_relax_closures_refuse_what_is_no_function),
        cmocka_unit_test(test_relax_closures_limit_the_arguments_of_a_call),
    };
    return cmocka_run_group_tests_name("relax_closures", tests, NULL, NULL);
}
