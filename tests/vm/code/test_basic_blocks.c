#include "tests/vm/vm_fixture.h"
#include "vm/code/basic_blocks.h"

static void test_blocks_end_at_jumps_and_targets(void **state) {
    (void)state;
    Executable *executable = vm_parse("function f(1) {\n"
                                      "a: IntOp add, r0, 1 -> r0\n If r0, 5, b, c\n"
                                      "b: Goto a\nc: Move r0 -> r0\n Ret r0\n}\n");
    BasicBlocks blocks;
    assert_ok(basic_blocks_create(executable, 0, &blocks));
    assert_int_equal(blocks.count, 3);
    const uint32_t starts[] = {0, 2, 3, 5};
    assert_memory_equal(blocks.starts, starts, sizeof starts);
    assert_int_equal(blocks.successors[0][0], 1);
    assert_int_equal(blocks.successors[0][1], 2);
    assert_int_equal(blocks.successors[1][0], 0);
    assert_int_equal(blocks.successors[1][1], BASIC_BLOCK_NONE);
    assert_int_equal(blocks.successors[2][0], BASIC_BLOCK_NONE);
    assert_int_equal(blocks.predecessor_offsets[1], 1); /* block 0: from block 1 */
    assert_int_equal(blocks.predecessors[0], 1);
    for (uint32_t pc = 0; pc < 5; pc++)
        assert_int_equal(basic_blocks_find(&blocks, pc), pc < 2 ? 0 : pc < 3 ? 1 : 2);
    basic_blocks_deinit(&blocks);
    executable_release(executable);
}

static void check_cuts(int instructions, uint32_t length_max, uint32_t count_max) {
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, "function f(1) {\n");
    for (int i = 1; i < instructions; i++) text_append(&text, " IntOp add, r0, 1 -> r0\n");
    text_append(&text, " Ret r0\n}\n");
    Executable *executable = vm_parse(text_builder_get(&text));
    BasicBlocks blocks;
    assert_ok(basic_blocks_create(executable, 0, &blocks));
    assert_in_range(blocks.count, 1, count_max);
    for (uint32_t i = 0; i < blocks.count; i++) {
        assert_in_range(blocks.starts[i + 1] - blocks.starts[i], 1, length_max);
        if (i + 1 < blocks.count) assert_int_equal(blocks.successors[i][0], i + 1);
    }
    assert_int_equal(blocks.starts[blocks.count], instructions);
    basic_blocks_deinit(&blocks);
    executable_release(executable);
}

/* Into as many as are short, but not into more than what lives at the cuts is worth. */
static void test_long_blocks_are_cut(void **state) {
    (void)state;
    check_cuts(1001, 64, 16);
    check_cuts(128 * 64, 64, 128);
    check_cuts(200000, 200000 / 128, 129);
    assert_int_equal(basic_block_instructions_max(0), 64);
}

int test_basic_blocks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_end_at_jumps_and_targets),
        cmocka_unit_test(test_long_blocks_are_cut),
    };
    return cmocka_run_group_tests_name("basic_blocks", tests, NULL, NULL);
}
