#include "tests/vm/relax/relax_case_runner.h"
#include "vm/objects/adt.h"

static void test_relax_tuples_answer_as_tvm(void **state) {
    (void)state;
    relax_cases_run("tuples");
}

static Value pair_of(int64_t a, int64_t b) {
    return relax_call("vm.builtin.make_tuple", RELAX_ARGUMENTS(value_int(a), value_int(b)));
}

static void test_relax_tuples_are_reset_in_place_by_their_only_holder(void **state) {
    (void)state;
    Value pair = pair_of(1, 2);
    const void *address = pair.object;
    Value holder = value_copy(pair); /* the call's argument is one holder, this is another */
    Value copy = relax_call("vm.builtin.tuple_reset_item", RELAX_ARGUMENTS(pair, value_int(0)));
    assert_ptr_not_equal(copy.object, address);
    assert_int_equal(holder.adt->fields[0].integer, 1);
    assert_int_equal(copy.adt->fields[0].tag, VALUE_NIL);
    assert_int_equal(copy.adt->fields[1].integer, 2);
    value_release(&copy);
    Value same = relax_call("vm.builtin.tuple_reset_item", RELAX_ARGUMENTS(holder, value_int(1)));
    assert_ptr_equal(same.object, address);
    assert_int_equal(same.adt->fields[1].tag, VALUE_NIL);
    value_release(&same);
}

static void test_relax_tuples_refuse_fields_outside(void **state) {
    (void)state;
    relax_refuses(
        "field 2 of 2", "vm.builtin.tuple_getitem", RELAX_ARGUMENTS(pair_of(1, 2), value_int(2)));
    relax_refuses("field -1 of 2", "vm.builtin.tuple_reset_item",
        RELAX_ARGUMENTS(pair_of(1, 2), value_int(-1)));
    relax_refuses("argument 0 is a string, not a tuple", "vm.builtin.tuple_getitem",
        RELAX_ARGUMENTS(relax_string("a"), value_int(0)));
}

int test_relax_tuples(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_tuples_answer_as_tvm),
        cmocka_unit_test(test_relax_tuples_are_reset_in_place_by_their_only_holder),
        cmocka_unit_test(test_relax_tuples_refuse_fields_outside),
    };
    return cmocka_run_group_tests_name("relax_tuples", tests, NULL, NULL);
}
