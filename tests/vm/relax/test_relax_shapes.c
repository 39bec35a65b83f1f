#include "tests/vm/relax/relax_case_runner.h"
#include "tests/vm/vm_fixture.h"

static void test_relax_shapes_answer_as_tvm(void **state) {
    (void)state;
    relax_cases_run("shapes");
}

static Value heap_of(int64_t cells) {
    return relax_call(
        "vm.builtin.alloc_shape_heap", RELAX_ARGUMENTS(value_nil(), value_int(cells)));
}

static void test_relax_shapes_refuse_cells_outside_the_heap(void **state) {
    (void)state;
    const int64_t dims[] = {3, 5};
    static const int64_t cells[] = {4, -1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        relax_refuses("of 4", "vm.builtin.match_shape",
            RELAX_ARGUMENTS(relax_shape(2, dims), heap_of(4), value_int(2), value_int(2),
                value_int(0), value_int(1), value_int(cells[i]), relax_string("here ")));
        relax_refuses("cell", "vm.builtin.make_shape",
            RELAX_ARGUMENTS(heap_of(4), value_int(1), value_int(1), value_int(cells[i])));
        relax_refuses("of 4", "vm.builtin.make_prim_value",
            RELAX_ARGUMENTS(heap_of(4), value_int(1), value_int(cells[i])));
        relax_refuses("of 4", "vm.builtin.match_prim_value",
            RELAX_ARGUMENTS(value_int(1), heap_of(4), value_int(3), value_int(cells[i])));
    }
}

static void test_relax_shapes_name_place_and_value(void **state) {
    (void)state;
    const int64_t dims[] = {3, 5};
    relax_refuses("here: dimension 1 is: 5, not 7", "vm.builtin.match_shape",
        RELAX_ARGUMENTS(relax_shape(2, dims), value_nil(), value_int(2), value_int(2), value_int(0),
            value_int(0), value_int(7), relax_string("here ")));
    relax_refuses("cell 2 of a heap, and there is none", "vm.builtin.match_shape",
        RELAX_ARGUMENTS(relax_shape(2, dims), value_nil(), value_int(2), value_int(1), value_int(2),
            value_int(0), value_int(7), relax_string("here")));
    relax_refuses("here: a shape of 2 dimensions, not of 3", "vm.builtin.match_shape",
        RELAX_ARGUMENTS(relax_shape(2, dims), value_nil(), value_int(3), value_int(2), value_int(0),
            value_int(2), value_int(0), value_int(2), value_int(0), relax_string("here")));
    relax_refuses("match code -1; the codes are 0 to 3", "vm.builtin.match_prim_value",
        RELAX_ARGUMENTS(value_int(1), heap_of(1), value_int(-1), value_int(0)));
    relax_refuses("-1 pairs of code and value in 6 arguments", "vm.builtin.match_shape",
        RELAX_ARGUMENTS(relax_shape(0, dims), value_nil(), value_int(-1), value_int(2),
            value_int(0), relax_string("here")));
    relax_refuses("9223372036854775807 pairs", "vm.builtin.make_shape",
        RELAX_ARGUMENTS(value_nil(), value_int(INT64_MAX)));
    relax_refuses("shape code -2", "vm.builtin.make_shape",
        RELAX_ARGUMENTS(value_nil(), value_int(1), value_int(-2), value_int(3)));
}

static void test_relax_shapes_refuse_heaps_that_are_none(void **state) {
    (void)state;
    relax_refuses(
        "cells -1 of", "vm.builtin.alloc_shape_heap", RELAX_ARGUMENTS(value_nil(), value_int(-1)));
    relax_refuses("of 1048577", "vm.builtin.alloc_shape_heap",
        RELAX_ARGUMENTS(value_nil(), value_int(INT64_MAX)));
    relax_refuses("not a tensor [n] of int64", "vm.builtin.make_prim_value",
        RELAX_ARGUMENTS(relax_int32s(1, (int32_t[]){1}), value_int(1), value_int(0)));
    relax_refuses("not one of alloc_shape_heap", "vm.builtin.match_prim_value",
        RELAX_ARGUMENTS(value_int(1), value_object(OBJECT_TENSOR, vm_ints(1, (int64_t[]){1})),
            value_int(1), value_int(0)));
}

int test_relax_shapes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_shapes_answer_as_tvm),
        cmocka_unit_test(test_relax_shapes_refuse_cells_outside_the_heap),
        cmocka_unit_test(test_relax_shapes_name_place_and_value),
        cmocka_unit_test(test_relax_shapes_refuse_heaps_that_are_none),
    };
    return cmocka_run_group_tests_name("relax_shapes", tests, NULL, NULL);
}
