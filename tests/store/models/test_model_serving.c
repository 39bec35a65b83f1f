#include "store/models/model_serving.h"

#include "tests/store/store_fixtures.h"

enum { OTHER_TENANT = 2 };

static void expect_version(
    Store *store, const char *reference, int64_t items_max, int64_t delay_us, bool unloaded) {
    ModelVersion OWN_VERSION(version) = {0};
    expect_ok(models_find(store, TENANT_DEFAULT, reference, &version));
    assert_int_equal(version.batching.items_max, items_max);
    assert_int_equal(version.batching.queue_delay_us, delay_us);
    assert_int_equal(version.unloaded, unloaded);
}

static void register_two(Store *store) {
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 2, 500, "prod", NULL));
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 2, 2, 500, NULL, NULL));
}

static void test_model_serving_keeps_the_batching_of_a_version(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    {
        OWN(Store, store) = fixture_open(&home);
        register_two(store);
        expect_version(store, "a@1", 1, 0, false);
        expect_ok(model_serving_set_batching(
            store, TENANT_DEFAULT, "a@prod", &(ModelBatching){32, 2000}));
    }
    OWN(Store, store) = fixture_open(&home);
    expect_version(store, "a@1", 32, 2000, false);
    expect_version(store, "a", 1, 0, false);
}

static void test_model_serving_unloads_all_versions(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    register_two(store);
    const uint64_t before = store_settings_generation(store);
    expect_ok(model_serving_set_unloaded(store, TENANT_DEFAULT, "a", true));
    assert_true(store_settings_generation(store) > before); /* whoever keeps it reads it anew */
    expect_version(store, "a@1", 1, 0, true);
    expect_version(store, "a", 1, 0, true);
    expect_ok(model_serving_set_unloaded(store, TENANT_DEFAULT, "a", false));
    expect_version(store, "a", 1, 0, false);
}

static void test_model_serving_refuses_others(void **state) {
    (void)state;
    static const ModelBatching wrong[] = {
        {0, 0}, {MODEL_BATCH_MAX + 1, 0}, {1, -1}, {1, MODEL_QUEUE_DELAY_US_MAX + 1}};
    const ModelBatching right = {2, 1};
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    register_two(store);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_error(model_serving_set_batching(store, TENANT_DEFAULT, "a", &wrong[i]),
            ERROR_INVALID, "are possible");
    expect_error(model_serving_set_batching(store, TENANT_DEFAULT, "a@7", &right), ERROR_NOT_FOUND,
        "no model a@7");
    expect_error(model_serving_set_batching(store, OTHER_TENANT, "a", &right), ERROR_NOT_FOUND,
        "no model a");
    expect_error(
        model_serving_set_unloaded(store, OTHER_TENANT, "a", true), ERROR_NOT_FOUND, "no model a");
    expect_error(
        model_serving_set_unloaded(store, TENANT_DEFAULT, "a@1", true), ERROR_INVALID, "no name");
}

TEST_GROUP(model_serving, cmocka_unit_test(test_model_serving_keeps_the_batching_of_a_version),
    cmocka_unit_test(test_model_serving_unloads_all_versions),
    cmocka_unit_test(test_model_serving_refuses_others))
