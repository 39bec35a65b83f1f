#include "tests/vm/vm_fixture.h"
#include "vm/execution/instructions.h"

static void test_conditions_of_every_kind(void **state) {
    (void)state;
    int64_t number;
    Value values[] = {
        value_int(-3), value_bool(true), value_object(OBJECT_TENSOR, vm_ints(1, (int64_t[]){9}))};
    const int64_t expected[] = {-3, 1, 9};
    for (uint32_t i = 0; i < 3; i++) {
        assert_ok(instruction_test_value(&values[i], &number));
        assert_int_equal(number, expected[i]);
        value_release(&values[i]);
    }
    Value bad[] = {value_nil(), value_float(1), value_dtype(DTYPE_INT8),
        value_object(OBJECT_TENSOR, vm_ints(2, (int64_t[]){1, 1})),
        value_object(OBJECT_TENSOR, vm_floats(1, (float[]){1})),
        value_object(OBJECT_TENSOR, vm_ints(0, NULL))};
    for (uint32_t i = 0; i < 6; i++) {
        assert_fails(INVALID, instruction_test_value(&bad[i], &number));
        value_release(&bad[i]);
    }
}

int test_instructions_object(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions_of_every_kind),
    };
    return cmocka_run_group_tests_name("instructions_object", tests, NULL, NULL);
}
