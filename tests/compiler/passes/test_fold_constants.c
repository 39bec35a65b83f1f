#include "tests/compiler/compiler_fixtures.h"

static void test_fold_constants_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("fold_constants");
}

enum { COLUMNS = 2048 };

/* Folds a function in whose text each W stands for the same constant float32[4, 2048], whose rows
 * are larger than what is always folded. */
static IrModule *fold_weights(const char *body) {
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, "function @main(%0: float32[4, 2048]) {\n");
    for (; *body; body++) {
        if (*body != 'W') {
            text_append_bytes(&text, body, 1);
            continue;
        }
        text_append(&text, "float32[4, 2048]{");
        for (int i = 0; i < 4 * COLUMNS; i++) text_appendf(&text, i ? ", %d" : "%d", i);
        text_append(&text, "}");
    }
    text_append(&text, "}\n");
    IrModule *module = module_parse(text_builder_get(&text));
    module_run_pass(module, "merge_common");
    module_run_pass(module, "fold_constants");
    return module;
}

static int count_slices(const IrModule *module) {
    int count = 0;
    for (const IrBinding *b = module->functions[0]->body->first; b; b = b->next)
        count += b->kind == IR_OPERATOR && b->operator_info->id == OPERATOR_SLICE;
    return count;
}

/* Gates of a recurrent network in another order: three slices of one matrix, joined again. Each
 * slice alone would leave the matrix beside it. */
static void test_fold_constants_folds_all_readers_of_a_constant_together(void **state) {
    (void)state;
    OWN(IrModule, module) = fold_weights("  %1 = Slice(W, int64[1]{0}, int64[1]{1}, int64[1]{0})\n"
                                         "  %2 = Slice(W, int64[1]{3}, int64[1]{4}, int64[1]{0})\n"
                                         "  %3 = Slice(W, int64[1]{1}, int64[1]{3}, int64[1]{0})\n"
                                         "  %4 = Concat(%1, %2, %3) {axis=0}\n"
                                         "  %5 = Add(%0, %4)\n"
                                         "  -> %5\n");
    const IrBinding *add = module->functions[0]->body->first;
    assert_null(add->next);
    const float *joined = tensor_data(ir_variable_tensor(add->operands[1]));
    for (int i = 0; i < COLUMNS; i++) {
        assert_true(joined[i] == (float)i);
        assert_true(joined[COLUMNS + i] == (float)(3 * COLUMNS + i));
        assert_true(joined[2 * COLUMNS + i] == (float)(COLUMNS + i));
        assert_true(joined[3 * COLUMNS + i] == (float)(2 * COLUMNS + i));
    }
}

/* The constant stays for another reader, or the results are larger than the constant; both by more
 * than a quarter of all constants. */
static void test_fold_constants_folds_no_readers_that_make_the_file_grow(void **state) {
    (void)state;
    OWN(IrModule, read) = fold_weights("  %1 = Slice(W, int64[1]{0}, int64[1]{3}, int64[1]{0})\n"
                                       "  %2 = Add(%0, W)\n"
                                       "  %3 = Slice(W, int64[1]{1}, int64[1]{4}, int64[1]{0})\n"
                                       "  -> %1, %2, %3\n");
    OWN(IrModule, large) = fold_weights("  %1 = Slice(W, int64[1]{0}, int64[1]{3}, int64[1]{0})\n"
                                        "  %2 = Slice(W, int64[1]{1}, int64[1]{4}, int64[1]{0})\n"
                                        "  -> %1, %2\n");
    assert_int_equal(count_slices(read), 2);
    assert_int_equal(count_slices(large), 2);
}

/* Two rows are the quarter that the file may grow by, and what is always folded. The third has no
 * room, unless a step of the others disappears again. */
static void test_fold_constants_lets_tables_add_a_quarter_of_the_constants(void **state) {
    (void)state;
    OWN(IrModule, rows) = fold_weights("  %1 = Slice(W, int64[1]{0}, int64[1]{1}, int64[1]{0})\n"
                                       "  %2 = Slice(W, int64[1]{1}, int64[1]{2}, int64[1]{0})\n"
                                       "  %3 = Slice(W, int64[1]{2}, int64[1]{3}, int64[1]{0})\n"
                                       "  %4 = Add(%0, W)\n"
                                       "  -> %1, %2, %3, %4\n");
    OWN(IrModule, steps) = fold_weights("  %1 = Slice(W, int64[1]{0}, int64[1]{1}, int64[1]{0})\n"
                                        "  %2 = Slice(W, int64[1]{1}, int64[1]{2}, int64[1]{0})\n"
                                        "  %3 = Slice(%2, int64[1]{0}, int64[1]{8}, int64[1]{1})\n"
                                        "  %4 = Slice(W, int64[1]{2}, int64[1]{3}, int64[1]{0})\n"
                                        "  %5 = Add(%0, W)\n"
                                        "  -> %1, %3, %4, %5\n");
    assert_int_equal(count_slices(rows), 1);
    assert_int_equal(count_slices(steps), 0);
}

static int count_operators(const char *body) {
    OWN(IrModule, module) = fold_weights(body);
    int count = 0;
    for (const IrBinding *b = module->functions[0]->body->first; b; b = b->next)
        count += b->kind == IR_OPERATOR;
    return count;
}

/* Devices pack constants only, so a weight is one even if it is larger than what it is made from;
 * the same expression that no product reads is computed in each run. */
static void test_fold_constants_makes_weights_that_grow(void **state) {
    (void)state;
    const char *product = "  %1: float32[256, 2048] = ConstantOfShape(int64[2]{256, 2048})\n"
                          "  %2: float32[2048, 256] = Transpose(%1) {perm=[1, 0]}\n"
                          "  %3 = MatMul(%0, %2)\n"
                          "  -> %3\n";
    const char *sum = "  %1: float32[64, 4, 2048] = ConstantOfShape(int64[3]{64, 4, 2048}) "
                      "\n"
                      "  %2 = Add(%0, %1)\n"
                      "  -> %2\n";
    const char *widened = "  %1: float64[4, 2048] = Cast(W) {to=float64}\n"
                          "  %2: float64[2048, 4] = Transpose(%1) {perm=[1, 0]}\n"
                          "  %3 = Cast(%0) {to=float64}\n"
                          "  %4 = MatMul(%3, %2)\n"
                          "  -> %4\n";
    assert_int_equal(count_operators(product), 1);
    assert_int_equal(count_operators(sum), 2);
    assert_int_equal(count_operators(widened), 2);
}

/* A matrix that stays beside its transposed form would be in the file twice. */
static void test_fold_constants_copies_no_weight_that_stays(void **state) {
    (void)state;
    assert_int_equal(count_operators("  %1: float32[2048, 4] = Transpose(W) {perm=[1, 0]}\n"
                                     "  %2 = MatMul(%0, %1)\n"
                                     "  %3 = Add(%0, W)\n"
                                     "  -> %2, %3\n"),
        3);
}

int test_fold_constants(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold_constants_gives_what_its_golden_files_say),
        cmocka_unit_test(test_fold_constants_folds_all_readers_of_a_constant_together),
        cmocka_unit_test(test_fold_constants_folds_no_readers_that_make_the_file_grow),
        cmocka_unit_test(test_fold_constants_lets_tables_add_a_quarter_of_the_constants),
        cmocka_unit_test(test_fold_constants_makes_weights_that_grow),
        cmocka_unit_test(test_fold_constants_copies_no_weight_that_stays),
    };
    return cmocka_run_group_tests_name("fold_constants", tests, NULL, NULL);
}
