#include "tests/vm/vm_fixture.h"
#include "vm/objects/closure.h"

static void test_closure_holds_bound_values(void **state) {
    (void)state;
    Closure *closure;
    assert_ok(closure_create(NULL, 7, CLOSURE_LAST, 1, &closure));
    closure->bound[0] = value_object(OBJECT_TENSOR, vm_floats(1, (float[]){1}));
    assert_int_equal(closure->function, 7);
    assert_int_equal(closure->side, CLOSURE_LAST);
    closure_release(closure);
}

static void test_closure_refuses_other_sides(void **state) {
    (void)state;
    Closure *closure;
    assert_fails(INVALID, closure_create(NULL, 0, (ClosureSide)2, 0, &closure));
    assert_fails(INVALID, closure_create(NULL, 0, CLOSURE_FIRST, 5000, &closure));
}

int test_closure(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closure_holds_bound_values),
        cmocka_unit_test(test_closure_refuses_other_sides),
    };
    return cmocka_run_group_tests_name("closure", tests, NULL, NULL);
}
