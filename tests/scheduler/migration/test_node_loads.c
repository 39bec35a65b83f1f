#include "scheduler/migration/node_loads.h"
#include "tests/scheduler/migration_fixtures.h"

static void test_node_loads_choose_the_least_pressure(void **state) {
    (void)state;
    NodeLoad items[] = {
        {"away", .answers = false, .devices = 8, .active = 0},
        {"busy", .answers = true, .devices = 1, .active = 3},
        {"large", .answers = true, .devices = 4, .active = 8},
        {"bare", .answers = true, .devices = 0, .active = 0},
    };
    NodeLoads loads = {items, sizeof items / sizeof *items};
    assert_string_equal(node_loads_choose(&loads)->name, "large");
    items[2].active = 16;
    assert_string_equal(node_loads_choose(&loads)->name, "busy");
    items[1].answers = items[2].answers = false;
    assert_string_equal(node_loads_choose(&loads)->name, "bare");
    items[3].answers = false;
    assert_null(node_loads_choose(&loads));
    assert_true(node_load_pressure(&items[2]) == 4);
}

static void test_node_loads_ask_the_nodes(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    NodeLoads OWN_LOADS(loads) = {0};
    NodeLoads OWN_LOADS(later) = {0};
    assert_ok(node_loads_ask(pair->west.home.store, pair->west.number, &loads));
    assert_int_equal(loads.count, 1);
    assert_string_equal(loads.items[0].name, "east");
    assert_true(loads.items[0].answers);
    assert_true(loads.items[0].devices > 0);
    migration_node_hide(&pair->east);
    assert_ok(node_loads_ask(pair->west.home.store, pair->west.number, &later));
    assert_int_equal(later.count, 1);
    assert_false(later.items[0].answers);
    migration_node_show(&pair->east);
    migration_pair_check(pair);
}

int test_node_loads(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_loads_choose_the_least_pressure),
        cmocka_unit_test(test_node_loads_ask_the_nodes),
    };
    return cmocka_run_group_tests_name("node_loads", tests, NULL, NULL);
}
