#include "compiler/lower/slot_settle.h"

#include "base/text.h"
#include "tests/compiler/compiler_fixtures.h"

/* A chain of few floats: that its end is needed on the device goes back to its beginning, one
 * operator at a time. */
static uint64_t count_visits(uint32_t length) {
    TextBuilder OWN_TEXT(text) = {0};
    SlotChoice choice;
    text_append(&text, "function @main(%0 \"x\": float32[4]) {\n");
    for (uint32_t i = 0; i < length; i++)
        text_appendf(&text, "  %%%u: float32[4] = Neg(%%%u)\n", i + 1, i);
    text_appendf(&text, "  -> %%%u\n}\n", length);
    IrModule *module = module_parse(text_builder_get(&text));
    assert_ok(slot_settle(module, &choice));
    uint64_t visits = choice.visits;
    for (uint32_t i = 0; i < module->variable_count; i++) assert_int_equal(choice.of[i], 1);
    slot_choice_deinit(&choice);
    ir_module_release(module);
    return visits;
}

static void test_slot_settle_looks_at_each_binding_a_few_times(void **state) {
    (void)state;
    enum { LENGTH = 4000, VISITS_EACH = 8 };
    assert_true(count_visits(LENGTH) <= VISITS_EACH * LENGTH);
    assert_true(count_visits(4 * LENGTH) <= 4 * VISITS_EACH * LENGTH);
}

int test_slot_settle(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slot_settle_looks_at_each_binding_a_few_times),
    };
    return cmocka_run_group_tests_name("slot_settle", tests, NULL, NULL);
}
