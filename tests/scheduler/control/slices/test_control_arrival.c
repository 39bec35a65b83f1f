#include "scheduler/control/control.h"
#include "tests/scheduler/manifest_fixtures.h"

/* A job in the middle of a run, whose chunks have come. */
static void send(ManifestFixture *fixture, JobImportState **out_import) {
    JobId id;
    control_fixture_suspended(&fixture->from, 3, false, &id);
    manifest_fixture_open(fixture, id);
    manifest_fixture_send(fixture);
    assert_ok(job_import_open(fixture->to.store, NULL, &fixture->wanted, out_import));
    assert_ok(job_import_stage(*out_import));
}

static Error *open_for(ManifestFixture *fixture, TenantId tenant, const Digest *identity,
    JobImportState *import, ControlArrival **out) {
    return control_arrival_open(fixture->to.control, tenant, identity,
        job_import_get_policy(import), job_import_get_function(import),
        job_import_take_batch(import), out);
}

/* Opened, warmed with what came, restored over it: all that happens before the job is there. */
static Error *try_out(ManifestFixture *fixture, JobImportState *import) {
    OWN(ControlArrival, arrival) = NULL;
    size_t size;
    TRY(open_for(fixture, TENANT_DEFAULT, &job_import_get_file(import)->executable_identity, import,
        &arrival));
    for (int i = 0; i < 3; i++)
        TRY(control_arrival_warm(arrival, job_import_get_execution(import)));
    const void *point = job_import_get_point(import, &size);
    assert_non_null(point);
    return control_arrival_restore(arrival, point, size, fixture->wanted.source);
}

static void test_control_opens_a_run_before_its_job(void **state) {
    (void)state;
    ManifestFixture OWN_MANIFEST(fixture);
    OWN(JobImportState, import) = NULL;
    OWN(JobList, jobs) = NULL;
    manifest_fixture_init(&fixture);
    send(&fixture, &import);
    assert_ok(try_out(&fixture, import));
    assert_ok(jobs_list(fixture.to.store, TENANT_DEFAULT, JOB_STATE_NONE, 0, 10, &jobs));
    assert_int_equal(jobs->count, 0); /* nothing came of it */
    assert_ok(control_check(fixture.to.control));
}

static void test_control_opens_runs_of_the_tenants_models_alone(void **state) {
    (void)state;
    ManifestFixture OWN_MANIFEST(fixture);
    OWN(JobImportState, import) = NULL;
    OWN(JobImportState, again) = NULL;
    OWN(ControlArrival, arrival) = NULL;
    manifest_fixture_init(&fixture);
    send(&fixture, &import);
    Digest other = job_import_get_file(import)->executable_identity;
    other.bytes[3] ^= 1;
    assert_fails(NOT_FOUND, open_for(&fixture, TENANT_DEFAULT, &other, import, &arrival));
    assert_ok(job_import_open(fixture.to.store, NULL, &fixture.wanted, &again));
    assert_fails(NOT_FOUND,
        open_for(&fixture, 99, &job_import_get_file(again)->executable_identity, again, &arrival));
}

/* In host memory, though no device computes there. */
static void test_control_opens_runs_without_a_cpu(void **state) {
    (void)state;
    static const char *const devices[] = {"sim:0", NULL};
    ManifestFixture OWN_MANIFEST(fixture);
    OWN(JobImportState, import) = NULL;
    manifest_fixture_init(&fixture);
    control_fixture_stop(&fixture.to);
    control_fixture_start(&fixture.to, devices);
    send(&fixture, &import);
    assert_ok(try_out(&fixture, import));
}

static Error *set_quota(Connection *catalog, void *context) {
    (void)context;
    return tenants_set_quota(catalog, TENANT_DEFAULT, QUOTA_DEVICE_BYTES, 1);
}

/* What the tenant may not have here is known before the job stops there. */
static void test_control_opens_runs_within_the_tenants_quotas(void **state) {
    (void)state;
    ManifestFixture OWN_MANIFEST(fixture);
    OWN(JobImportState, import) = NULL;
    manifest_fixture_init(&fixture);
    send(&fixture, &import);
    assert_ok(catalog_run(fixture.to.catalog, set_quota, NULL));
    assert_fails(EXHAUSTED, try_out(&fixture, import));
}

int test_control_arrival(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_opens_a_run_before_its_job),
        cmocka_unit_test(test_control_opens_runs_of_the_tenants_models_alone),
        cmocka_unit_test(test_control_opens_runs_without_a_cpu),
        cmocka_unit_test(test_control_opens_runs_within_the_tenants_quotas),
    };
    return cmocka_run_group_tests_name("control_arrival", tests, NULL, NULL);
}
