#include <string.h>

#include "tests/store/job_fixtures.h"

static Error *refuse(void *context, const void *policy, size_t size) {
    (void)context, (void)policy, (void)size;
    FAIL(CORRUPT, "a policy of another world");
}

static void expect_errors(
    Store *store, const FsckOptions *options, uint64_t count, const char *text) {
    OWN(FsckResult, result) = NULL;
    expect_ok(fsck_run(store, options, &result));
    if (result->error_count != count)
        fail_msg("%llu errors: %s", (unsigned long long)result->error_count,
            result->error_count ? result->errors[0] : "");
    if (text && !strstr(result->errors[0], text)) fail_msg("%s", result->errors[0]);
}

static void test_fsck_names_and_repairs_settings_that_make_no_sense(void **state) {
    (void)state;
    static const struct {
        const char *sql, *text;
    } cases[] = {
        {"INSERT INTO tenant_quotas VALUES (2, 999, 5)", "tenant ada: the unknown quota 999"},
        {"UPDATE tenants SET weight = 0 WHERE id = 2", "tenant ada: the weight 0"},
        {"UPDATE tenants SET retention_seconds = -5 WHERE id = 2", "tenant ada: the retention -5"},
        {"INSERT INTO tenant_quotas VALUES (2, 5, -7)", "tenant ada: store_bytes -7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TestHome OWN_HOME(home) = fixture_home_make();
        OWN(Store, store) = fixture_open(&home);
        char sql[256];
        Tenant tenant;
        TenantId ada = fixture_add_tenant(store, "ada");
        (void)fixture_submit(store, ada);
        store_close(TAKE(store));
        (void)snprintf(sql, sizeof sql, "PRAGMA ignore_check_constraints = 1; %s", cases[i].sql);
        fixture_run_sql(&home, "catalog.db", sql);
        store = fixture_open(&home);
        expect_ok(tenants_get(store, ada, &tenant));
        assert_int_equal(tenant.weight, 1);
        assert_int_equal(tenant.retention_s, TENANT_RETENTION_DEFAULT_S);
        assert_int_equal(tenant.quotas[QUOTA_STORE_BYTES], QUOTA_UNLIMITED);
        assert_true(strstr(cases[i].text, tenant.damage) != NULL);
        OWN(FsckResult, found) = NULL;
        expect_ok(fsck_run(store, NULL, &found));
        bool named = false;
        for (uint64_t k = 0; k < found->error_count; k++)
            named |= strstr(found->errors[k], cases[i].text) != NULL;
        assert_true(named);
        FsckOptions repair = {.repair = true};
        OWN(FsckResult, repaired) = NULL;
        expect_ok(fsck_run(store, &repair, &repaired));
        assert_int_equal(repaired->repaired, 1);
        expect_errors(store, NULL, 0, NULL);
        expect_ok(tenants_get(store, ada, &tenant));
        assert_string_equal(tenant.damage, "");
    }
}

static void test_fsck_names_jobs_that_do_not_run(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    FsckOptions options = {.check_policy = refuse};
    (void)fixture_submit(store, TENANT_DEFAULT);
    expect_errors(store, NULL, 0, NULL);
    expect_errors(store, &options, 1, "does not run; `layover cancel` and `rm-job` remove it");
    store_close(TAKE(store));
    fixture_run_sql(
        &home, "catalog.db", "PRAGMA ignore_check_constraints = 1; UPDATE jobs SET priority = 300");
    store = fixture_open(&home);
    OWN(FsckResult, found) = NULL;
    expect_ok(fsck_run(store, NULL, &found));
    bool named = false;
    for (uint64_t k = 0; k < found->error_count; k++)
        named |= strstr(found->errors[k], "-1 does not run; `layover rm-job` removes it") != NULL;
    assert_true(named);
}

TEST_GROUP(fsck_rows, cmocka_unit_test(test_fsck_names_and_repairs_settings_that_make_no_sense),
    cmocka_unit_test(test_fsck_names_jobs_that_do_not_run))
