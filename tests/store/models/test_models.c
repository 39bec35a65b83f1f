#include <stdio.h>
#include <string.h>

#include "tests/store/store_fixtures.h"

enum { BYTES = 500, OTHER_TENANT = 2 };

static int64_t add(Store *store, const char *name, uint32_t seed, const char *alias) {
    int64_t version;
    expect_ok(fixture_register(store, TENANT_DEFAULT, name, seed, 2, BYTES, alias, &version));
    return version;
}

static int64_t find(Store *store, const char *reference) {
    ModelVersion OWN_VERSION(version) = {0};
    expect_ok(models_find(store, TENANT_DEFAULT, reference, &version));
    return version.version;
}

static void expect_absent(Store *store, const char *reference, const char *text) {
    ModelVersion OWN_VERSION(version) = {0};
    expect_error(models_find(store, TENANT_DEFAULT, reference, &version), ERROR_NOT_FOUND, text);
}

static void test_models_find_takes_every_form_of_reference(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    assert_int_equal(add(store, "a", 1, "old"), 1);
    assert_int_equal(add(store, "a", 2, "prod"), 2);
    assert_int_equal(add(store, "a", 3, NULL), 3);
    assert_int_equal(find(store, "a"), 3);
    assert_int_equal(find(store, "a@2"), 2);
    assert_int_equal(find(store, "a@prod"), 2);
    assert_int_equal(find(store, "a@old"), 1);
    expect_absent(store, "b", "no model b");
    expect_absent(store, "a@4", "no model a@4");
    expect_absent(store, "a@new", "no model a@new");
    ModelVersion OWN_VERSION(version) = {0};
    expect_error(models_find(store, TENANT_DEFAULT, "a/b", &version), ERROR_INVALID, "no name");
}

static void test_models_list_is_in_order_and_complete(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    for (uint32_t i = 1; i <= 12; i++) (void)add(store, "b", i, NULL);
    (void)add(store, "a", 20, NULL);
    expect_ok(models_set_alias(store, TENANT_DEFAULT, "b", "z", 10));
    expect_ok(models_set_alias(store, TENANT_DEFAULT, "b", "m", 10));
    expect_ok(models_set_alias(store, TENANT_DEFAULT, "b", "a", 10));
    OWN(ModelList, list) = NULL;
    expect_ok(models_list(store, TENANT_DEFAULT, &list));
    assert_int_equal(list->count, 13);
    assert_string_equal(list->items[0].model, "a");
    for (size_t i = 1; i < list->count; i++) {
        assert_string_equal(list->items[i].model, "b");
        assert_int_equal(list->items[i].version, i);
        assert_int_equal(list->items[i].alias_count, i == 10 ? 3 : 0);
    }
    assert_string_equal(list->items[10].aliases[0], "a");
    assert_string_equal(list->items[10].aliases[1], "m");
    assert_string_equal(list->items[10].aliases[2], "z");
}

static void test_models_set_alias_moves_it(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    (void)add(store, "a", 1, "prod");
    (void)add(store, "a", 2, NULL);
    expect_ok(models_set_alias(store, TENANT_DEFAULT, "a", "prod", 2));
    assert_int_equal(find(store, "a@prod"), 2);
    expect_error(models_set_alias(store, TENANT_DEFAULT, "a", "prod", 3), ERROR_NOT_FOUND, "a@3");
    expect_error(models_set_alias(store, TENANT_DEFAULT, "c", "prod", 1), ERROR_NOT_FOUND, "c@1");
    expect_error(models_set_alias(store, TENANT_DEFAULT, "a", "7", 1), ERROR_INVALID, "alias 7");
    expect_error(models_set_alias(store, TENANT_DEFAULT, "a", "", 1), ERROR_INVALID, "no name");
    expect_error(models_set_alias(store, TENANT_DEFAULT, "a b", "c", 1), ERROR_INVALID, "a b");
    assert_int_equal(find(store, "a@prod"), 2);
}

static void give_alias(Store *store, int64_t version, size_t number) {
    char alias[MODEL_NAME_SIZE];
    (void)snprintf(alias, sizeof alias, "alias-%zu", number);
    expect_ok(models_set_alias(store, TENANT_DEFAULT, "a", alias, version));
}

/* A list that has to name all aliases of a version stays small, by whatever way they came. */
static void test_models_have_so_many_aliases_a_version(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    (void)add(store, "a", 1, NULL);
    (void)add(store, "a", 2, NULL);
    for (size_t i = 0; i < MODEL_VERSION_ALIASES_MAX; i++) give_alias(store, 1, i);
    expect_error(models_set_alias(store, TENANT_DEFAULT, "a", "more", 1), ERROR_EXHAUSTED,
        "alias more: version 1 has 1024 aliases, and 1024 is the limit");
    expect_absent(store, "a@more", "a@more");
    give_alias(store, 1, 7); /* is no more */
    expect_ok(models_set_alias(store, TENANT_DEFAULT, "a", "more", 2));
    int64_t version;
    expect_error(fixture_register(store, TENANT_DEFAULT, "a", 1, 2, BYTES, "more", &version),
        ERROR_EXHAUSTED, "is the limit");
    assert_int_equal(find(store, "a@more"), 2);
    give_alias(store, 2, 7); /* makes room for one */
    expect_ok(models_set_alias(store, TENANT_DEFAULT, "a", "more", 1));
    fixture_expect_clean(store);
}

static void test_models_remove_takes_a_version_with_its_aliases(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    (void)add(store, "a", 1, "old");
    (void)add(store, "a", 2, "prod");
    (void)add(store, "a", 3, "test");
    uint64_t count;
    expect_ok(models_remove(store, TENANT_DEFAULT, "a@prod", &count));
    assert_int_equal(count, 1);
    expect_absent(store, "a@2", "no model a@2");
    expect_absent(store, "a@prod", "no model a@prod");
    expect_ok(models_remove(store, TENANT_DEFAULT, "a@3", NULL));
    assert_int_equal(find(store, "a"), 1);
    assert_int_equal(add(store, "a", 3, NULL), 4); /* numbers are not given twice */
    expect_error(
        models_remove(store, TENANT_DEFAULT, "a@3", NULL), ERROR_NOT_FOUND, "no model a@3");
    fixture_expect_clean(store);
}

static void test_models_remove_takes_a_whole_model(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    (void)add(store, "a", 1, "old");
    (void)add(store, "a", 2, NULL);
    (void)add(store, "b", 1, NULL);
    uint64_t count;
    expect_ok(models_remove(store, TENANT_DEFAULT, "a", &count));
    assert_int_equal(count, 2);
    expect_absent(store, "a", "no model a");
    assert_int_equal(find(store, "b"), 1);
    expect_ok(models_remove(store, TENANT_DEFAULT, "b@1", &count)); /* its last version */
    assert_int_equal(count, 1);
    expect_error(models_remove(store, TENANT_DEFAULT, "b", NULL), ERROR_NOT_FOUND, "no model b");
    assert_int_equal(fixture_read_sql(&home, "catalog.db", "SELECT count(*) FROM models"), 0);
    assert_int_equal(fixture_read_sql(&home, "catalog.db", "SELECT count(*) FROM executables"), 0);
    fixture_expect_clean(store);
}

/* The same content under two names is one executable; it goes with the last of them. */
static void test_models_remove_keeps_an_executable_that_another_model_has(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    (void)add(store, "a", 1, NULL);
    (void)add(store, "b", 1, NULL);
    assert_int_equal(fixture_read_sql(&home, "catalog.db", "SELECT count(*) FROM executables"), 1);
    expect_ok(models_remove(store, TENANT_DEFAULT, "a", NULL));
    assert_int_equal(fixture_read_sql(&home, "catalog.db", "SELECT count(*) FROM executables"), 1);
    TextBuilder OWN_TEXT(shown) = {0};
    fixture_print_state(store, &shown);
    assert_true(text_starts_with(text_builder_get(&shown), "b@1: manifest 1"));
    expect_ok(models_remove(store, TENANT_DEFAULT, "b", NULL));
    assert_int_equal(fixture_read_sql(&home, "catalog.db", "SELECT count(*) FROM executables"), 0);
    assert_int_equal(
        fixture_read_sql(&home, "catalog.db", "SELECT count(*) FROM executable_chunks"), 0);
}

/* What another tenant has answers exactly as what does not exist. */
static void test_models_of_another_tenant_do_not_exist(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    store_close(fixture_open(&home));
    fixture_run_sql(
        &home, "catalog.db", "INSERT INTO tenants (id, name, created) VALUES (2, 'ada', 0.0)");
    OWN(Store, store) = fixture_open(&home);
    (void)add(store, "a", 1, "prod");
    ModelVersion OWN_VERSION(version) = {0};
    OWN(ModelList, list) = NULL;
    static const char *const references[] = {"a", "a@1", "a@prod"};
    for (size_t i = 0; i < 3; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "no model %s", references[i]);
        expect_error(
            models_find(store, OTHER_TENANT, references[i], &version), ERROR_NOT_FOUND, text);
        expect_error(
            models_remove(store, OTHER_TENANT, references[i], NULL), ERROR_NOT_FOUND, text);
    }
    expect_error(
        models_set_alias(store, OTHER_TENANT, "a", "mine", 1), ERROR_NOT_FOUND, "no model a@1");
    expect_ok(models_list(store, OTHER_TENANT, &list));
    assert_int_equal(list->count, 0);
    expect_ok(models_find(store, TENANT_DEFAULT, "a", &version));
    StoredExecutable *executable = NULL;
    expect_error(stored_executable_open(store, OTHER_TENANT, &version.executable, &executable),
        ERROR_NOT_FOUND, "is not in the store");
    expect_ok(fixture_register(store, OTHER_TENANT, "a", 1, 2, BYTES, "prod", NULL));
    expect_ok(models_remove(store, TENANT_DEFAULT, "a", NULL));
    GcResult result;
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.chunks, 2); /* the tenant's own copies */
    fixture_expect_clean(store);
}

TEST_GROUP(models, cmocka_unit_test(test_models_find_takes_every_form_of_reference),
    cmocka_unit_test(test_models_list_is_in_order_and_complete),
    cmocka_unit_test(test_models_set_alias_moves_it),
    cmocka_unit_test(test_models_have_so_many_aliases_a_version),
    cmocka_unit_test(test_models_remove_takes_a_version_with_its_aliases),
    cmocka_unit_test(test_models_remove_takes_a_whole_model),
    cmocka_unit_test(test_models_remove_keeps_an_executable_that_another_model_has),
    cmocka_unit_test(test_models_of_another_tenant_do_not_exist))
