#include "compiler/lower/emitter.h"

#include "tests/support/test_support.h"
#include "vm/instruction/instruction.h"

static void test_emitter_makes_operands_of_values(void **state) {
    (void)state;
    Emitter emitter = {0};
    uint64_t operand;
    Value seven = value_int(7);
    const IrVariable small = {.constant = &seven};
    assert_ok(emit_use_operand(&emitter, NULL, &operand));
    assert_int_equal(operand, operand_make(OPERAND_ABSENT, 0));
    assert_ok(emit_use_operand(&emitter, &small, &operand));
    assert_int_equal(operand, operand_make(OPERAND_IMMEDIATE, 7));
}

static void test_emitter_refuses_one_operand_too_many(void **state) {
    (void)state;
    Emitter emitter = {0};
    for (int64_t i = 0; i < INSTRUCTION_OPERANDS_MAX; i++)
        assert_ok(emit_add_immediate(&emitter, i));
    assert_int_equal(emitter.operands[3], operand_make(OPERAND_IMMEDIATE, 3));
    assert_fails_saying(
        EXHAUSTED, "an instruction with more than", emit_add_immediate(&emitter, 0));
}

int test_emitter(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_emitter_makes_operands_of_values),
        cmocka_unit_test(test_emitter_refuses_one_operand_too_many),
    };
    return cmocka_run_group_tests_name("emitter", tests, NULL, NULL);
}
