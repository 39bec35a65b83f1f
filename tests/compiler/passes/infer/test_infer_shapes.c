#include "base/text.h"
#include "tests/compiler/compiler_fixtures.h"

static void test_infer_shapes_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("infer_shapes");
}

/* A loop that adds to what it is given as often as main says. */
static void add_loop(TextBuilder *text, int index, int first) {
    text_appendf(text,
        "function @loop.%d(%%%d: int, %%%d: int, %%%d) {\n"
        "  %%%d: bool = int_lt(%%%d, %%%d)\n"
        "  %%%d = if(%%%d) {\n"
        "    %%%d = Sin(%%%d)\n"
        "    %%%d: int = int_add(%%%d, 1)\n"
        "    %%%d = call @loop.%d(%%%d, %%%d, %%%d)\n"
        "    -> %%%d\n"
        "  } else {\n"
        "    -> %%%d\n"
        "  }\n"
        "  -> %%%d\n"
        "}\n",
        index, first, first + 1, first + 2, first + 3, first, first + 1, first + 4, first + 3,
        first + 5, first + 2, first + 6, first, first + 7, index, first + 6, first + 1, first + 5,
        first + 7, first + 2, first + 4);
}

/* What a loop makes is known to the next one, however many there are. */
static void test_infer_shapes_follows_a_long_chain_of_loops(void **state) {
    (void)state;
    enum { LOOPS = 300, PER_LOOP = 8 };
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, "function @main(%0: float32[n, 3], %1: int) {\n");
    for (int i = 0; i < LOOPS; i++)
        text_appendf(&text, "  %%%d = call @loop.%d(0, %%1, %%%d)\n", i + 2, i, i > 0 ? i + 1 : 0);
    text_appendf(&text, "  -> %%%d\n}\n", LOOPS + 1);
    for (int i = 0; i < LOOPS; i++) add_loop(&text, i, LOOPS + 2 + i * PER_LOOP);
    assert_ok(text_builder_check(&text));
    OWN(IrModule, module) = module_parse(text_builder_get(&text));
    module_run_pass(module, "infer_shapes");
    const IrBlock *body = module->functions[0]->body;
    for (size_t f = 1; f <= LOOPS; f++)
        assert_true(ir_type_equal(
            &module->functions[f]->body->results[0]->type, &body->parameters[0]->type));
    assert_true(ir_type_equal(&body->results[0]->type, &body->parameters[0]->type));
}

int test_infer_shapes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_infer_shapes_gives_what_its_golden_files_say),
        cmocka_unit_test(test_infer_shapes_follows_a_long_chain_of_loops),
    };
    return cmocka_run_group_tests_name("infer_shapes", tests, NULL, NULL);
}
