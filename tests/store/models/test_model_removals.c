#include "store/models/model_removals.h"

#include "store/database/removal_steps.h"
#include "store/upkeep/removals.h"
#include "store/database/row_costs.h"
#include "tests/store/removal_fixtures.h"

static void test_model_removals_take_steps(void **state) {
    (void)state;
    enum { ALIASES = 3000 };
    TestHome OWN_HOME(home) = fixture_home_make();
    const atomic_bool never = false;
    CommitWatch watch;
    ModelVersion OWN_VERSION(version) = {0};
    char sql[256];
    {
        OWN(Store, store) = fixture_open(&home);
        (void)fixture_add_executable(store, TENANT_DEFAULT);
    }
    (void)snprintf(sql, sizeof sql,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
        " INSERT INTO aliases SELECT 1, 1, 'a' || i, 1 FROM n;"
        "UPDATE tenants SET bytes_stored = bytes_stored + %d",
        ALIASES, ALIASES * ROW_COST_ALIAS);
    fixture_run_sql(&home, "catalog.db", sql);
    OWN(Store, store) = fixture_open(&home);
    commit_watch(store, &watch);
    expect_ok(models_remove(store, TENANT_DEFAULT, "m", NULL));
    expect_error(models_find(store, TENANT_DEFAULT, "m", &version), ERROR_NOT_FOUND, "no model m");
    (void)fixture_add_executable(store, TENANT_DEFAULT); /* its name is free */
    OWN(ModelList, list) = NULL;
    expect_ok(models_list(store, TENANT_DEFAULT, &list));
    assert_int_equal(list->count, 1);
    expect_ok(removals_run(store, &never));
    /* with each row its tenant's, which gets back what it cost */
    assert_in_range(watch.most, REMOVAL_STEP_ROWS, 2 * REMOVAL_STEP_ROWS + 100);
    commit_unwatch(&watch);
    assert_int_equal(fixture_count_rows(&home, "aliases"), 0);
    assert_int_equal(fixture_count_rows(&home, "models"), 1);
    fixture_expect_clean(store);
}

/* Aliases go before versions, versions before the model. */
static void test_model_removals_keep_to_the_budget(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "m", 1, 2, 1000, "a", NULL));
    expect_ok(models_set_alias(store, TENANT_DEFAULT, "m", "b", 1));
    const int64_t model = fixture_read_sql(&home, "catalog.db", "SELECT id FROM models");
    expect_ok(fixture_end(model_removals_mark(fixture_begin(store), model)));
    static const struct {
        uint64_t rows;
        int64_t aliases, versions, models; /* left */
    } steps[] = {{0, 2, 1, 1}, {1, 1, 1, 1}, {1, 0, 1, 1}, {1, 0, 0, 1}, {1, 0, 0, 0}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        uint64_t rows = steps[i].rows;
        expect_ok(fixture_end(model_removals_step(fixture_begin(store), model, &rows)));
        assert_int_equal(rows, 0);
        assert_int_equal(fixture_count_rows(&home, "aliases"), steps[i].aliases);
        assert_int_equal(fixture_count_rows(&home, "versions"), steps[i].versions);
        assert_int_equal(fixture_count_rows(&home, "models"), steps[i].models);
    }
    fixture_expect_clean(store);
}

TEST_GROUP(model_removals, cmocka_unit_test(test_model_removals_take_steps),
    cmocka_unit_test(test_model_removals_keep_to_the_budget))
