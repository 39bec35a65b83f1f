#include "tests/vm/vm_fixture.h"
#include "vm/instruction/opcode.h"

static void test_opcode_table_has_31_rows(void **state) {
    (void)state;
    uint32_t count = 0;
    for (uint32_t i = 0; i < OPCODE_TABLE_SIZE; i++) count += opcode_infos[i].mnemonic != NULL;
    assert_int_equal(count, 31);
}

static void test_operand_letters_repeat_and_give_way_to_outputs(void **state) {
    (void)state;
    uint64_t head = head_make(OPCODE_INVOKE_PACKED, 0, 6, REGISTER_NONE);
    char letters[8] = "";
    for (uint32_t i = 0; i < 7; i++) letters[i] = opcode_operand_letter(head, i, 2);
    assert_string_equal(letters, "pcnnoo");
    assert_int_equal(opcode_operand_letter(head_make(OPCODE_MOVE, 0, 1, 0), 1, 0), '\0');
    assert_int_equal(opcode_operand_letter(head_make(OPCODE_LIST_NEW, 0, 3, 0), 2, 0), 'v');
    assert_int_equal(opcode_operand_letter(head_make((Opcode)99, 0, 3, 0), 0, 0), '\0');
}

static void test_operand_values_keep_their_sign(void **state) {
    (void)state;
    const int64_t values[] = {0, 1, -1, OPERAND_VALUE_MAX, OPERAND_VALUE_MIN};
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t operand = operand_make(OPERAND_IMMEDIATE, values[i]) | OPERAND_LAST_USE;
        assert_int_equal(operand_value(operand), values[i]);
        assert_int_equal(operand_kind(operand), OPERAND_IMMEDIATE);
    }
}

int test_opcode(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opcode_table_has_31_rows),
        cmocka_unit_test(test_operand_letters_repeat_and_give_way_to_outputs),
        cmocka_unit_test(test_operand_values_keep_their_sign),
    };
    return cmocka_run_group_tests_name("opcode", tests, NULL, NULL);
}
