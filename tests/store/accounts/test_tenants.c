#include <string.h>

#include "store/accounts/tenants_internal.h"
#include "tests/store/job_fixtures.h"

static void test_tenants_are_listed_with_shares_and_use(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TenantId zoe = fixture_add_tenant(store, "zoe"), ada = fixture_add_tenant(store, "ada");
    (void)fixture_submit(store, ada);
    JobId ended = fixture_submit(store, ada);
    Connection *catalog = fixture_begin(store);
    expect_ok(jobs_transition(catalog, ada, ended, JOB_STATE_FAILED, NULL));
    expect_ok(tenants_set_weight(catalog, zoe, 4));
    expect_ok(tenants_set_quota(catalog, zoe, QUOTA_DEPTH, 0));
    expect_ok(tenants_set_quota(catalog, zoe, QUOTA_RUNNING_JOBS, 5));
    expect_ok(tenants_set_quota(catalog, zoe, QUOTA_RUNNING_JOBS, 6));
    expect_ok(tenants_set_quota(catalog, zoe, QUOTA_HOST_BYTES, 7));
    expect_ok(tenants_set_quota(catalog, zoe, QUOTA_HOST_BYTES, QUOTA_UNLIMITED));
    expect_ok(fixture_end(NULL));
    OWN(TenantList, list) = NULL;
    expect_ok(tenants_list(store, &list));
    assert_int_equal(list->count, 3);
    const Tenant *first = &list->items[0], *last = &list->items[2];
    assert_string_equal(first->name, "ada");
    assert_string_equal(list->items[1].name, "default");
    assert_string_equal(last->name, "zoe");
    assert_int_equal(first->queued_jobs, 1);
    assert_true(first->bytes_stored > 600);
    assert_int_equal(first->weight, 1);
    assert_int_equal(first->retention_s, TENANT_RETENTION_DEFAULT_S);
    assert_int_equal(last->weight, 4);
    assert_int_equal(last->quotas[QUOTA_DEPTH], 0);
    assert_int_equal(last->quotas[QUOTA_RUNNING_JOBS], 6);
    assert_int_equal(last->quotas[QUOTA_HOST_BYTES], QUOTA_UNLIMITED);
    assert_int_equal(last->quotas[QUOTA_STORE_BYTES], QUOTA_UNLIMITED);
    Tenant tenant;
    expect_ok(tenants_get(store, zoe, &tenant));
    assert_int_equal(tenant.weight, 4);
    fixture_expect_clean(store);
}

static void test_tenants_refuse_bad_names_and_figures(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TenantId id;
    Tenant tenant;
    Connection *catalog = fixture_begin(store);
    expect_error(tenants_add(catalog, "../etc", &id), ERROR_INVALID, "tenant \"../etc\"");
    expect_error(tenants_add(catalog, "default", &id), ERROR_CONFLICT, "default exists already");
    expect_error(tenants_set_weight(catalog, 1, 0), ERROR_INVALID, "1 to 1000000, not 0");
    expect_error(tenants_set_weight(catalog, 1, 1000001), ERROR_INVALID, "not 1000001");
    expect_error(tenants_set_weight(catalog, 9, 1), ERROR_NOT_FOUND, "no such tenant");
    expect_error(tenants_set_retention(catalog, 1, -1), ERROR_INVALID, "-1 seconds");
    expect_error(tenants_set_retention(catalog, 9, 1), ERROR_NOT_FOUND, "no such tenant");
    expect_error(
        tenants_set_quota(catalog, 1, QUOTA_DEPTH, -2), ERROR_INVALID, "depth can't be -2");
    expect_error(tenants_set_quota(catalog, 9, QUOTA_DEPTH, 2), ERROR_NOT_FOUND, "no such tenant");
    expect_ok(fixture_end(NULL));
    expect_error(tenants_get(store, 9, &tenant), ERROR_NOT_FOUND, "no such tenant");
}

static void test_tenants_know_their_quotas_by_name(void **state) {
    (void)state;
    static const char *const names[] = {"running_jobs", "queued_jobs", "device_bytes", "host_bytes",
        "store_bytes", "device_seconds_per_hour", "depth"};
    QuotaId quota;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_true(tenants_find_quota(names[i], &quota));
        assert_int_equal(quota, i + 1);
        assert_string_equal(tenants_quota_name(quota), names[i]);
    }
    assert_false(tenants_find_quota("bytes", &quota));
    assert_false(tenants_find_quota("", &quota));
}

static void test_tenants_are_charged_to_the_byte(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Tenant tenant;
    Connection *catalog = fixture_begin(store);
    expect_ok(tenants_charge(catalog, 1, 100));
    expect_ok(tenants_set_quota(catalog, 1, QUOTA_STORE_BYTES, 150));
    expect_ok(tenants_charge(catalog, 1, 50));
    expect_ok(tenants_discharge(catalog, 1, 20));
    expect_ok(tenants_charge(catalog, 1, 20));
    expect_ok(fixture_end(NULL));
    expect_error(fixture_end(tenants_charge(fixture_begin(store), 1, 1)), ERROR_EXHAUSTED,
        "its quota store_bytes is 150, and this would make it 151");
    expect_ok(tenants_get(store, 1, &tenant));
    assert_int_equal(tenant.bytes_stored, 150);
    expect_ok(fixture_end(tenants_charge_unlimited(fixture_begin(store), 1, 1)));
}

TEST_GROUP(tenants, cmocka_unit_test(test_tenants_are_listed_with_shares_and_use),
    cmocka_unit_test(test_tenants_refuse_bad_names_and_figures),
    cmocka_unit_test(test_tenants_know_their_quotas_by_name),
    cmocka_unit_test(test_tenants_are_charged_to_the_byte))
