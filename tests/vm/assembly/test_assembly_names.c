#include "tests/vm/vm_fixture.h"
#include "vm/assembly/assembly_names.h"
#include "kernels/tensor/dtype.h"

static void test_immediate_names_and_numbers_are_inverses(void **state) {
    (void)state;
    for (int64_t value = 0; value < INT_OP_COUNT; value++) {
        int64_t found;
        const char *name = assembly_immediate_name(OPCODE_INT_OP, 0, value);
        assert_true(assembly_find_immediate(OPCODE_INT_OP, 0, name, &found));
        assert_int_equal(found, value);
    }
    for (uint32_t value = 0; value < 64; value++) {
        int64_t found;
        const char *name = assembly_immediate_name(OPCODE_ALLOC_TENSOR, 2, value);
        if (!name) continue;
        assert_true(assembly_find_immediate(OPCODE_ALLOC_TENSOR, 2, name, &found));
        assert_int_equal(found, value);
    }
}

static void test_plain_immediates_have_no_names(void **state) {
    (void)state;
    int64_t found;
    assert_null(assembly_immediate_name(OPCODE_LOAD_CONSTI, 0, 1));
    assert_null(assembly_immediate_name(OPCODE_INT_OP, 0, 99));
    assert_null(assembly_immediate_name(OPCODE_ALLOC_CLOSURE, 1, 2));
    assert_false(assembly_find_immediate(OPCODE_INT_OP, 1, "add", &found));
    assert_false(assembly_find_immediate(OPCODE_INT_OP, 0, "plus", &found));
}

int test_assembly_names(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_immediate_names_and_numbers_are_inverses),
        cmocka_unit_test(test_plain_immediates_have_no_names),
    };
    return cmocka_run_group_tests_name("assembly_names", tests, NULL, NULL);
}
