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

/* A device that is demanded must be there; what is shown of a job names the one it has. */
static void test_control_jobs_run_where_they_demand_it(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    ControlStatus status = {0};
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, control_fixture_cpu_and_sim);
    assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &id));
    for (int i = 0; i < 100000 && !status.running; i++)
        assert_true(control_find_status(fixture.control, id, &status));
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, id));
    assert_fails(NOT_FOUND, control_resume(fixture.control, TENANT_DEFAULT, id, "cuda:7"));
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, id, "sim:0"));
    status.running = false;
    for (int i = 0; i < 10000000 && !status.running; i++)
        assert_true(control_find_status(fixture.control, id, &status));
    assert_string_equal(status.device, "sim:0");
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
    assert_string_equal(job.device, "sim:0");
    while (control_find_status(fixture.control, id, &status)) continue; /* it goes soon */
}

int test_control_jobs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_jobs_are_held_to_their_tenants_quotas),
        cmocka_unit_test(test_control_jobs_run_where_they_demand_it),
    };
    return cmocka_run_group_tests_name("control_jobs", tests, NULL, NULL);
}
