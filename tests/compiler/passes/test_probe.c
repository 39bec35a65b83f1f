#include "compiler/passes/probe.h"
#include "tests/compiler/compiler_fixtures.h"

typedef struct Fixture {
    IrModule *module;
    ProbeContext context;
    IrVariable *x, *y;
} Fixture;

static void open_fixture(Fixture *fixture) {
    fixture->module = module_parse("function @main(%0: float32[n, 4], %1: float32[m, 4]) {\n"
                                   "  -> %0\n"
                                   "}\n");
    fixture->x = fixture->module->functions[0]->body->parameters[0];
    fixture->y = fixture->module->functions[0]->body->parameters[1];
    assert_ok(probe_context_init(fixture->module, NULL, 0, &fixture->context));
    assert_ok(probe_from_type(
        &fixture->context, fixture->x, &fixture->x->type, probe_of(&fixture->context, fixture->x)));
    assert_ok(probe_from_type(
        &fixture->context, fixture->y, &fixture->y->type, probe_of(&fixture->context, fixture->y)));
}

static void close_fixture(Fixture *fixture) {
    probe_context_deinit(&fixture->context);
    ir_module_release(fixture->module);
}

static void test_probe_types_come_back_from_their_numbers(void **state) {
    (void)state;
    Fixture fixture;
    open_fixture(&fixture);
    Probe *probe = probe_of(&fixture.context, fixture.x);
    IrType type;
    assert_ok(probe_to_type(&fixture.context, probe, &type));
    assert_true(ir_type_equal(&type, &fixture.x->type));
    /* twice n is a symbol of its own, the same each time */
    IrType first, second;
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) probe->dims[w][0] *= 2;
    assert_ok(probe_to_type(&fixture.context, probe, &first));
    assert_ok(probe_to_type(&fixture.context, probe, &second));
    assert_true(ir_dim_is_symbol(first.dims[0]));
    assert_int_not_equal(first.dims[0], fixture.x->type.dims[0]);
    assert_true(ir_type_equal(&first, &second));
    close_fixture(&fixture);
}

/* Lengths that change together become one symbol, others another. */
static void test_probe_join_keeps_equal_what_grows_together(void **state) {
    (void)state;
    Fixture fixture;
    open_fixture(&fixture);
    ProbeGroups groups = {0};
    Probe *x = probe_of(&fixture.context, fixture.x), *y = probe_of(&fixture.context, fixture.y);
    Probe grown = {0};
    probe_set(y, x);
    probe_set(&grown, x);
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) grown.dims[w][0] += 1;
    assert_ok(probe_join(&fixture.context, &groups, true, fixture.x, x, &grown));
    assert_ok(probe_join(&fixture.context, &groups, true, fixture.y, y, &grown));
    probe_groups_deinit(&groups);
    assert_memory_equal(x->dims, y->dims, sizeof x->dims);
    assert_int_not_equal(x->dims[0][0], grown.dims[0][0]);
    /* the next call tells them apart */
    Probe more = {0};
    probe_set(&more, &grown);
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) more.dims[w][0] += 5;
    assert_ok(probe_join(&fixture.context, &groups, true, fixture.x, x, &grown));
    assert_ok(probe_join(&fixture.context, &groups, true, fixture.y, y, &more));
    probe_groups_deinit(&groups);
    assert_int_not_equal(x->dims[0][0], y->dims[0][0]);
    probe_clear(&grown);
    probe_clear(&more);
    close_fixture(&fixture);
}

static void test_probe_join_of_different_ranks_is_anything(void **state) {
    (void)state;
    Fixture fixture;
    open_fixture(&fixture);
    ProbeGroups groups = {0};
    Probe *x = probe_of(&fixture.context, fixture.x);
    Probe other = {0};
    probe_set(&other, x);
    other.rank = 1;
    assert_ok(probe_join(&fixture.context, &groups, false, fixture.x, x, &other));
    assert_int_equal(x->state, PROBE_TOP);
    assert_int_equal(x->dtype, DTYPE_FLOAT32);
    probe_groups_deinit(&groups);
    close_fixture(&fixture);
}

static bool has_no_divisor(int64_t number) {
    for (int64_t d = 2; d * d <= number; d++)
        if (number % d == 0) return false;
    return number > 1;
}

/* Each symbol has other sizes, of which the first three are primes and the last one twice a prime.
 */
static void test_probe_sizes_are_primes(void **state) {
    (void)state;
    enum { SYMBOLS = 5000 };
    for (uint32_t set = 0; set < PROBE_SETS; set++) {
        OWN(IrModule, module) = module_parse("function @main(%0: float32[n]) {\n  -> %0\n}\n");
        ProbeContext context;
        uint32_t symbol;
        for (int i = 0; i < SYMBOLS; i++) assert_ok(ir_module_symbol(module, "", &symbol));
        assert_ok(probe_context_init(module, NULL, set, &context));
        assert_int_equal(context.symbol_count, SYMBOLS + 1);
        for (size_t i = 1; i < context.symbol_count; i++) {
            const int64_t *sizes = context.symbols[i].sizes, *before = context.symbols[i - 1].sizes;
            for (uint32_t w = 0; w < PROBE_WORLDS; w++) assert_true(sizes[w] > before[w]);
            for (uint32_t w = 0; w < 3; w++) assert_true(has_no_divisor(sizes[w]));
            assert_true(sizes[4] % 2 == 0 && has_no_divisor(sizes[4] / 2));
        }
        probe_context_deinit(&context);
    }
}

int test_probe(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probe_types_come_back_from_their_numbers),
        cmocka_unit_test(test_probe_join_keeps_equal_what_grows_together),
        cmocka_unit_test(test_probe_join_of_different_ranks_is_anything),
        cmocka_unit_test(test_probe_sizes_are_primes),
    };
    return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
