#include "scheduler/node/settings_cache.h"

#include <string.h>

#include "base/allocator.h"
#include "scheduler/node/model_loader.h"
#include "store/database/catalog.h"
#include "store/models/models.h"
#include "tests/scheduler/control_fixtures.h"
#include "tests/scheduler/executor_fixtures.h"
#include "vm/assembly/assembly.h"

typedef struct CacheFixture {
    ControlFixture node;
    SettingsCache *cache;
} CacheFixture;

static void fixture_init(CacheFixture *fixture) {
    control_fixture_init(&fixture->node);
    assert_ok(settings_cache_create(fixture->node.store, &fixture->cache));
}

static void fixture_deinit(CacheFixture *fixture) {
    settings_cache_release(fixture->cache);
    control_fixture_deinit(&fixture->node);
}

static void register_again(CacheFixture *fixture, const char *name, const char *text) {
    OWN(Executable, executable) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    assert_ok(assembly_parse(text, strlen(text), &executable));
    assert_ok(model_loader_register(
        fixture->node.store, TENANT_DEFAULT, NULL, name, executable, NULL, 0, &version));
}

static void test_settings_cache_gives_the_same_outline_until_a_model_changes(void **state) {
    (void)state;
    CacheFixture fixture;
    OWN(Executable, first) = NULL;
    OWN(Executable, again) = NULL;
    OWN(Executable, newer) = NULL;
    Digest identity, newer_identity;
    fixture_init(&fixture);
    assert_ok(settings_cache_get_model(fixture.cache, TENANT_DEFAULT, "m", &identity, &first));
    assert_ok(settings_cache_get_model(fixture.cache, TENANT_DEFAULT, "m", &identity, &again));
    assert_ptr_equal(first, again);
    register_again(&fixture, "m",
        "function other(a: float32[2]) -> (y: float32[2]) exported {\n    Ret r0\n}\n");
    assert_ok(
        settings_cache_get_model(fixture.cache, TENANT_DEFAULT, "m", &newer_identity, &newer));
    assert_false(digest_equal(&identity, &newer_identity));
    assert_string_equal(newer->functions[0].name, "other");
    assert_string_equal(first->functions[0].name, "four"); /* whoever has it keeps it */
    fixture_deinit(&fixture);
}

static void test_settings_cache_keeps_tenants_apart(void **state) {
    (void)state;
    CacheFixture fixture;
    OWN(Executable, outline) = NULL;
    OWN(Executable, none) = NULL;
    Digest identity;
    fixture_init(&fixture);
    assert_ok(settings_cache_get_model(fixture.cache, TENANT_DEFAULT, "m", &identity, &outline));
    assert_fails(NOT_FOUND, settings_cache_get_model(fixture.cache, 2, "m", &identity, &none));
    assert_fails(NOT_FOUND,
        settings_cache_get_model(fixture.cache, TENANT_DEFAULT, "absent", &identity, &none));
    assert_null(none);
    fixture_deinit(&fixture);
}

static Error *add_and_weigh(Connection *catalog, void *context) {
    TenantId *tenant = context;
    if (*tenant) return tenants_set_weight(catalog, *tenant, 7);
    return tenants_add(catalog, "ada", tenant);
}

static void test_settings_cache_sees_a_tenant_that_is_new_or_changed(void **state) {
    (void)state;
    CacheFixture fixture;
    TenantId id, added = 0;
    Tenant tenant;
    fixture_init(&fixture);
    assert_fails(NOT_FOUND, settings_cache_find_tenant(fixture.cache, "ada", &id));
    assert_ok(catalog_run(fixture.node.catalog, add_and_weigh, &added));
    assert_ok(settings_cache_find_tenant(fixture.cache, "ada", &id));
    assert_int_equal(id, added);
    assert_ok(settings_cache_get_tenant(fixture.cache, id, &tenant));
    assert_int_equal(tenant.weight, 1);
    assert_ok(catalog_run(fixture.node.catalog, add_and_weigh, &added));
    assert_ok(settings_cache_get_tenant(fixture.cache, id, &tenant));
    assert_int_equal(tenant.weight, 7);
    assert_string_equal(tenant.name, "ada");
    fixture_deinit(&fixture);
}

typedef struct TokenWork {
    Token token;
    char text[TOKEN_TEXT_SIZE];
} TokenWork;

static Error *make_token(Connection *catalog, void *context) {
    TokenWork *work = context;
    return tokens_create(catalog, TENANT_DEFAULT, TOKEN_ROLE_USER, &work->token, work->text);
}

static Error *revoke_token(Connection *catalog, void *context) {
    const TokenWork *work = context;
    return tokens_revoke(catalog, work->token.id);
}

static void test_settings_cache_forgets_a_revoked_token_at_once(void **state) {
    (void)state;
    CacheFixture fixture;
    TokenWork work;
    Token token;
    fixture_init(&fixture);
    assert_ok(catalog_run(fixture.node.catalog, make_token, &work));
    for (int i = 0; i < 2; i++) {
        assert_ok(settings_cache_check_token(fixture.cache, work.text, &token));
        assert_int_equal(token.id, work.token.id);
        assert_ok(settings_cache_find_token(fixture.cache, work.token.id, &token));
        assert_int_equal(token.id, work.token.id);
    }
    assert_ok(catalog_run(fixture.node.catalog, revoke_token, &work));
    assert_fails(REFUSED, settings_cache_check_token(fixture.cache, work.text, &token));
    assert_fails(REFUSED, settings_cache_find_token(fixture.cache, work.token.id, &token));
    fixture_deinit(&fixture);
}

int test_settings_cache(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings_cache_gives_the_same_outline_until_a_model_changes),
        cmocka_unit_test(test_settings_cache_keeps_tenants_apart),
        cmocka_unit_test(test_settings_cache_sees_a_tenant_that_is_new_or_changed),
        cmocka_unit_test(test_settings_cache_forgets_a_revoked_token_at_once),
    };
    return cmocka_run_group_tests_name("settings_cache", tests, NULL, NULL);
}
