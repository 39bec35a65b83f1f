#include "store/database/removal_steps.h"

#include "tests/store/removal_fixtures.h"

static void test_removal_steps_delete_within_the_budget(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "m", 1, 2, 1000, "a", NULL));
    expect_ok(models_set_alias(store, TENANT_DEFAULT, "m", "b", 1));
    expect_ok(models_set_alias(store, TENANT_DEFAULT, "m", "c", 1));
    const int64_t model = fixture_read_sql(&home, "catalog.db", "SELECT id FROM models");
    static const struct {
        uint64_t rows, left;
        int64_t aliases; /* that there are then */
    } steps[] = {{0, 0, 3}, {2, 0, 1}, {5, 4, 0}, {5, 5, 0}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        uint64_t rows = steps[i].rows;
        expect_ok(fixture_end(removal_steps_delete(
            fixture_begin(store), STATEMENT_DELETE_SOME_ALIASES, model, &rows)));
        assert_int_equal(rows, steps[i].left);
        assert_int_equal(fixture_count_rows(&home, "aliases"), steps[i].aliases);
    }
}

static void test_removal_steps_run_on_one_row(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "m", 1, 2, 1000, NULL, NULL));
    expect_ok(fixture_register(store, TENANT_DEFAULT, "n", 1, 2, 1000, NULL, NULL));
    const int64_t model =
        fixture_read_sql(&home, "catalog.db", "SELECT id FROM models WHERE name = 'm'");
    expect_ok(
        fixture_end(removal_steps_run(fixture_begin(store), STATEMENT_MARK_MODEL_REMOVAL, model)));
    assert_int_equal(fixture_count_rows(&home, "model_removals"), 1);
    assert_int_equal(
        fixture_read_sql(&home, "catalog.db", "SELECT min(model) FROM model_removals"), model);
}

TEST_GROUP(removal_steps, cmocka_unit_test(test_removal_steps_delete_within_the_budget),
    cmocka_unit_test(test_removal_steps_run_on_one_row))
