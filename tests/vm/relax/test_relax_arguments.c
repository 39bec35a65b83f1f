#include "tests/vm/relax/relax_case_runner.h"
#include "base/allocator.h"
#include "vm/relax/relax_arguments.h"

static void test_relax_ints_come_from_shapes_tuples_and_tensors(void **state) {
    (void)state;
    const PackedCall call = {0};
    const int64_t dims[] = {3, 4};
    Value from[] = {relax_shape(2, dims), relax_int32s(2, (int32_t[]){3, 4}),
        relax_call("vm.builtin.make_tuple", RELAX_ARGUMENTS(value_int(3), value_int(4)))};
    for (uint32_t i = 0; i < 3; i++) {
        int64_t *ints;
        uint32_t count;
        assert_ok(relax_ints(&call, "x", &from[i], &ints, &count));
        assert_int_equal(count, 2);
        assert_memory_equal(ints, dims, sizeof dims);
        memory_free(ints);
        value_release(&from[i]);
    }
    int64_t *ints;
    uint32_t count;
    Value wrong = value_int(1);
    assert_fails_saying(INVALID, "x is a int, not a sequence of ints",
        relax_ints(&call, "x", &wrong, &ints, &count));
    wrong = relax_call("vm.builtin.make_tuple", RELAX_ARGUMENTS(value_int(3), value_nil()));
    assert_fails_saying(
        INVALID, "item 1 of x is a nil", relax_ints(&call, "x", &wrong, &ints, &count));
    value_release(&wrong);
}

int test_relax_arguments(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_ints_come_from_shapes_tuples_and_tensors),
    };
    return cmocka_run_group_tests_name("relax_arguments", tests, NULL, NULL);
}
