#include "tests/vm/vm_fixture.h"
#include "vm/code/liveness.h"
#include "vm/instruction/instruction.h"
#include <stdio.h>

#include "base/allocator.h"

static void assert_live(const Executable *executable, uint32_t pc, const char *expected) {
    uint64_t words[2];
    char text[128] = "";
    assert_ok(liveness_before(executable, 0, pc, words));
    RegisterSet set = {words, executable->functions[0].register_count};
    for (uint32_t i = 0; i < set.register_count; i++)
        if (register_set_has(set, i)) (void)snprintf(text + strlen(text), 16, "%u ", i);
    assert_string_equal(text, expected);
}

static void test_liveness_around_a_loop(void **state) {
    (void)state;
    Executable *executable = vm_parse("function f(2) {\n"
                                      " LoadConsti 0 -> r2\n"       /* 0 */
                                      "a: If r2, r0, c, b\n"        /* 1 */
                                      "b: IntOp add, r2, 1 -> r2\n" /* 2 */
                                      " IntOp add, r2, r2 -> r3\n"  /* 3: r3 is never read */
                                      " Goto a\n"                   /* 4 */
                                      "c: Ret r1\n}\n");            /* 5 */
    assert_live(executable, 0, "0 1 ");
    assert_live(executable, 1, "0 1 2 ");
    assert_live(executable, 3, "0 1 2 ");
    assert_live(executable, 4, "0 1 2 ");
    assert_live(executable, 5, "1 ");
    executable_release(executable);
}

static void test_liveness_of_a_caller_leaves_out_the_destination(void **state) {
    (void)state;
    Executable *executable = vm_parse("function f(3) {\n Invoke &f, r0, r1, r2 -> r1\n"
                                      " AllocADT 0, r1, r2 -> r0\n Ret r0\n}\n");
    uint64_t word;
    assert_ok(liveness_of_caller(executable, 0, 0, &word));
    assert_int_equal(word, 1u << 2);
    executable_release(executable);
}

static void test_liveness_marks_exactly_the_last_uses(void **state) {
    (void)state;
    Executable *executable = vm_parse("function f(2) {\n AllocADT 0, r0, r0, r1 -> r2\n"
                                      " IntOp add, r1, 1 -> r1\n AllocADT 1, r2, r1 -> r0\n"
                                      " Ret r0\n}\n");
    uint64_t words[32];
    const Function *function = &executable->functions[0];
    memcpy(words, executable->code, function->word_count * sizeof *words);
    assert_ok(liveness_mark_last_uses(executable, 0, words));
    Instruction first = instruction_read(words);
    assert_false(operand_is_last_use(first.operands[1]));
    assert_true(operand_is_last_use(first.operands[2]));
    assert_false(operand_is_last_use(first.operands[3]));
    Instruction second = instruction_read(words + function->instruction_words[1]);
    assert_true(operand_is_last_use(second.operands[1])); /* overwritten at once */
    executable_release(executable);
}

/* Against the textbook: iterate dense sets over all instructions until nothing changes. */
static void check_against_dense(const Executable *executable) {
    const Function *function = &executable->functions[0];
    uint32_t count = function->instruction_count;
    void *memory;
    assert_ok(memory_alloc(count + 1, sizeof(uint64_t), &memory));
    uint64_t *before = memory;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t pc = count; pc-- > 0;) {
            Instruction in = instruction_read(function_instruction(executable, function, pc));
            uint64_t live = opcode_infos[in.opcode].flags & OPCODE_FLAG_END ? 0 : before[pc + 1];
            if (in.opcode == OPCODE_GOTO) live = before[pc + operand_value(in.operands[0])];
            if (in.opcode == OPCODE_IF)
                live = before[pc + operand_value(in.operands[2])] |
                       before[pc + operand_value(in.operands[3])];
            if (instruction_has_destination(&in)) live &= ~(1ull << head_destination(in.head));
            for (uint32_t i = 0; i < in.operand_count; i++)
                if (operand_kind(in.operands[i]) == OPERAND_REGISTER)
                    live |= 1ull << operand_value(in.operands[i]);
            changed = changed || live != before[pc];
            before[pc] = live;
        }
    }
    for (uint32_t pc = 0; pc < count; pc++) {
        uint64_t word;
        assert_ok(liveness_before(executable, 0, pc, &word));
        assert_true(word == before[pc]);
    }
    memory_free(before);
}

static void test_liveness_agrees_with_dense_iteration_on_random_code(void **state) {
    (void)state;
    uint64_t random = 5;
    for (int round = 0; round < 60; round++) {
        TextBuilder OWN_TEXT(text) = {0};
        uint32_t count = 20 + (uint32_t)(test_random(&random) % 200);
        text_append(&text, "function f(1) nulls registers 40 {\n");
        for (uint32_t i = 0; i < count; i++) {
            text_appendf(&text, "l%u: ", i);
            uint32_t a = (uint32_t)(test_random(&random) % 40), b = a * 7 % 40, c = a * 11 % 40;
            uint32_t to = (uint32_t)(test_random(&random) % count);
            uint32_t choice = (uint32_t)(test_random(&random) % 6);
            if (choice == 0)
                text_appendf(&text, "If r%u, r%u, l%u, l%u\n", a, b, to, (to * 3 + 1) % count);
            else if (choice == 1 && i % 5 == 0)
                text_appendf(&text, "Goto l%u\n", to);
            else
                text_appendf(&text, "IntOp add, r%u, r%u -> r%u\n", a, b, c);
        }
        text_append(&text, " Ret r0\n}\n");
        Executable *executable = vm_parse(text_builder_get(&text));
        check_against_dense(executable);
        executable_release(executable);
    }
}

int test_liveness(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_liveness_around_a_loop),
        cmocka_unit_test(test_liveness_of_a_caller_leaves_out_the_destination),
        cmocka_unit_test(test_liveness_marks_exactly_the_last_uses),
        cmocka_unit_test(test_liveness_agrees_with_dense_iteration_on_random_code),
    };
    return cmocka_run_group_tests_name("liveness", tests, NULL, NULL);
}
