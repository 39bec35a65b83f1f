#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/passes/weight_makers.h"
#include "tests/compiler/compiler_fixtures.h"

enum { COUNT_MAX = 16 };

/* Returns the letters of the operators that make weights, one by one in the program's order: the
 * first letter of each operator's name. */
static const char *find_makers(const char *text) {
    static char letters[COUNT_MAX + 1];
    OWN(IrModule, module) = module_parse(text);
    bool *marks;
    size_t count = 0;
    assert_ok(weight_makers_mark(module, &marks));
    IrBinding *b = ir_walk_first(module->functions[0]->body);
    for (; b; b = ir_walk_next(b))
        if (b->kind == IR_OPERATOR && weight_makers_has(marks, b) && count < COUNT_MAX)
            letters[count++] = b->operator_info->name[0];
    memory_free(marks);
    letters[count] = 0;
    return letters;
}

static void test_weight_makers_are_found_through_chains_and_branches(void **state) {
    (void)state;
    assert_string_equal(find_makers("function @main(%0: float32[2, 2], %9: bool[]) {\n"
                                    "  %1: float32[2, 2] = Exp(float32[2, 2]{1, 2, 3, 4})\n"
                                    "  %2: float32[2, 2] = Neg(%1)\n"
                                    "  %3: float32[2, 2] = Relu(float32[2, 2]{1, 2, 3, 4})\n"
                                    "  %4 = if(%9) {\n"
                                    "    %5: float32[2, 2] = Log(float32[2, 2]{1, 2, 3, 4})\n"
                                    "    %6: float32[2, 2] = MatMul(%5, %0)\n"
                                    "    -> %6\n"
                                    "  } else {\n"
                                    "    %7: float32[2, 2] = Gemm(%0, %2)\n"
                                    "    -> %7\n"
                                    "  }\n"
                                    "  %8: float32[2, 2] = Add(%3, %0)\n"
                                    "  -> %4, %8\n"
                                    "}\n"),
        "ENL");
}

/* Which operands are weights depends on the operator: the image of a convolution is none. */
static void test_weight_makers_leave_data_and_codes(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, "function @main(%0: float32[1, 1, 4, 4], %1: float32[2, 4098]) {\n"
                       "  %2: float32[1, 1, 4, 4] = Exp(%0)\n"
                       "  %3: float32[1, 1, 2, 2] = Neg(float32[1, 1, 2, 2]{1, 2, 3, 4})\n"
                       "  %4: float32[1, 1, 3, 3] = Conv(%2, %3)\n"
                       "  %5: float32[4098, 1] = Cast(int8[4098, 1]{");
    for (int i = 0; i < 4098; i++) text_append(&text, i ? ", 1" : "1");
    text_append(&text, "}) {to=float32}\n"
                       "  %6: float32[2, 1] = MatMul(%1, %5)\n"
                       "  -> %4, %6\n"
                       "}\n");
    assert_string_equal(find_makers(text_builder_get(&text)), "N");
}

int test_weight_makers(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weight_makers_are_found_through_chains_and_branches),
        cmocka_unit_test(test_weight_makers_leave_data_and_codes),
    };
    return cmocka_run_group_tests_name("weight_makers", tests, NULL, NULL);
}
