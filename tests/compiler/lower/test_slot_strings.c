#include "compiler/lower/slot_strings.h"

#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"
#include "tests/compiler/compiler_fixtures.h"

/* Without inference nothing but what is declared has a type. */
static const char text[] = "function @main(%0 \"x\", %1 \"words\": string[n]) {\n"
                           "  %2 = Cast(%0) {to=string}\n"
                           "  %3 = list(%2)\n"
                           "  %4, %5, %6, %7 = Unique(%2)\n"
                           "  %8 = Cast(%4) {to=float32}\n"
                           "  %9 = CastLike(%8, %1)\n"
                           "  %10 = Equal(%9, %1)\n"
                           "  %11 = call @other(%9)\n"
                           "  %12 = if(%10) {\n"
                           "    -> %8\n"
                           "  } else {\n"
                           "    -> %11\n"
                           "  }\n"
                           "  -> %3, %12\n"
                           "}\n"
                           "function @other(%13) {\n"
                           "  %14 = Identity(%13)\n"
                           "  -> %14\n"
                           "}\n";

static void test_slot_strings_follow_values_whose_type_is_not_known(void **state) {
    (void)state;
    static const bool expected[] = {false, true, true, true, true, false, false, false, false, true,
        false, true, true, true, true};
    OWN(IrModule, module) = module_parse(text);
    void *table;
    assert_ok(ir_side_table(module, sizeof(bool), &table));
    bool *strings = table;
    slot_strings_find(module, strings);
    for (uint32_t i = 0; i < sizeof expected; i++)
        if (strings[i] != expected[i]) fail_msg("value %u: %d", i, strings[i]);
    memory_free(table);
}

int test_slot_strings(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slot_strings_follow_values_whose_type_is_not_known),
    };
    return cmocka_run_group_tests_name("slot_strings", tests, NULL, NULL);
}
