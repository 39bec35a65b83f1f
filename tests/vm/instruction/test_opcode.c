#include "tests/vm/vm_fixture.h"
#include "vm/instruction/opcode.h"

static void test_opcode_numbers_leave_no_gap(void **state) {
    (void)state;
    for (uint32_t i = 0; i < OPCODE_TABLE_SIZE; i++)
        assert_true((opcode_infos[i].mnemonic != NULL) == (i < OPCODE_COUNT));
}

static uint32_t count_letter(const char *operands, char letter) {
    uint32_t count = 0;
    for (; *operands; operands++) count += *operands == letter;
    return count;
}

/* What the readers of the table take for granted of a row. */
static void test_opcode_rows_are_ones_that_all_readers_can_follow(void **state) {
    (void)state;
    for (uint32_t i = 0; i < OPCODE_COUNT; i++) {
        const OpcodeInfo *info = &opcode_infos[i];
        for (const char *letter = info->operands; *letter; letter++)
            assert_true(*letter == '*' || operand_letters[(uint8_t)*letter].meaning);
        uint32_t jumps = count_letter(info->operands, 'j');
        assert_true((jumps > 0) == ((info->flags & OPCODE_FLAG_JUMP) != 0));
        /* basic blocks have two successors */
        assert_true(jumps + !(info->flags & OPCODE_FLAG_END) <= 2);
        assert_true((info->slot == TENSOR_NAMED) <= (count_letter(info->operands, 's') == 1));
        assert_true((info->slot == TENSOR_FIRST) <= (info->operands[0] != '\0'));
        if (strchr("ful", info->operands[0]) && info->operands[0])
            assert_true(info->slot == TENSOR_CALLEE || info->slot == TENSOR_CLOSURE);
        else
            assert_true(info->slot != TENSOR_CALLEE && info->slot != TENSOR_CLOSURE);
    }
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
        cmocka_unit_test(test_opcode_numbers_leave_no_gap),
        cmocka_unit_test(test_opcode_rows_are_ones_that_all_readers_can_follow),
        cmocka_unit_test(test_operand_letters_repeat_and_give_way_to_outputs),
        cmocka_unit_test(test_operand_values_keep_their_sign),
    };
    return cmocka_run_group_tests_name("opcode", tests, NULL, NULL);
}
