#include "scheduler/control/control.h"

#include <string.h>

#include "store/accounts/tenants.h"
#include "tests/scheduler/control_fixtures.h"

/* One runs, so that the others wait. */
static Error *set_quotas(Connection *catalog, void *context) {
    (void)context;
    TRY(tenants_set_quota(catalog, TENANT_DEFAULT, QUOTA_RUNNING_JOBS, 1));
    return tenants_set_quota(catalog, TENANT_DEFAULT, QUOTA_QUEUED_JOBS, 2);
}

static Error *raise_quotas(Connection *catalog, void *context) {
    (void)context;
    return tenants_set_quota(catalog, TENANT_DEFAULT, QUOTA_QUEUED_JOBS, 3);
}

/* What a tenant's quotas are is looked up with every job; the refusal names the figure. */
static void test_control_jobs_are_held_to_their_tenants_quotas(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId ids[3];
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &ids[0]));
    assert_ok(catalog_run(fixture.catalog, set_quotas, NULL));
    Error *error = NULL;
    size_t taken = 0;
    for (; taken < 4 && !error; taken += !error)
        error = control_fixture_submit(&fixture, "forever", 1, false, NULL, &ids[1]);
    assert_int_equal(error_code(error), ERROR_EXHAUSTED);
    assert_non_null(strstr(error_message(error), "queued_jobs"));
    assert_non_null(strstr(error_message(error), "of 2"));
    error_free(error);
    assert_int_equal(taken, 2);
    /* before a submission's inputs are looked at the policy says the same, with the same figures */
    Tenant tenant;
    assert_ok(settings_cache_get_tenant(fixture.settings, TENANT_DEFAULT, &tenant));
    error = control_check_queue(fixture.control, &tenant);
    assert_int_equal(error_code(error), ERROR_EXHAUSTED);
    assert_string_equal(error_message(error), "over the tenant's quota queued_jobs: 3 of 2");
    error_free(error);
    tenant.quotas[QUOTA_QUEUED_JOBS] = 1; /* it was raised meanwhile: the policy knows */
    assert_ok(catalog_run(fixture.catalog, raise_quotas, NULL));
    assert_ok(control_check_queue(fixture.control, &tenant));
}

int test_control_queue(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_jobs_are_held_to_their_tenants_quotas),
    };
    return cmocka_run_group_tests_name("control_queue", tests, NULL, NULL);
}
