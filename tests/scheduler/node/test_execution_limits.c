#include "scheduler/node/execution_limits.h"

#include <stdio.h>

#include "tests/scheduler/control_fixtures.h"

static const NativeTenants nobody = {0};

static Tenant unlimited(void) {
    Tenant tenant = {0};
    for (QuotaId quota = 0; quota < QUOTA_COUNT; quota++) tenant.quotas[quota] = QUOTA_UNLIMITED;
    return tenant;
}

static void test_execution_limits_are_the_quotas(void **state) {
    (void)state;
    Tenant tenant = unlimited();
    ExecutionOptions options = {0};
    tenant.quotas[QUOTA_DEVICE_BYTES] = 1000;
    tenant.quotas[QUOTA_HOST_BYTES] = (int64_t)1 << 30;
    tenant.quotas[QUOTA_DEPTH] = 77;
    ExecutionLimits limits = execution_limits_of(&tenant, (uint64_t)8 << 30, &nobody);
    execution_limits_apply(&limits, &options);
    assert_int_equal(options.memory_limit_bytes[SLOT_DEVICE], 1000);
    assert_int_equal(options.memory_limit_bytes[SLOT_HOST], (uint64_t)1 << 30);
    assert_int_equal(options.depth_limit, 77);
}

/* Without quotas the machine is the limit; a quota of nothing is not the absence of one. */
static void test_execution_limits_are_never_absent(void **state) {
    (void)state;
    Tenant tenant = unlimited();
    ExecutionLimits limits = execution_limits_of(&tenant, (uint64_t)8 << 30, &nobody);
    assert_int_equal(limits.device_bytes, 0); /* all that the device has */
    assert_int_equal(limits.host_bytes, (uint64_t)2 << 30);
    assert_int_equal(limits.depth, EXECUTION_DEPTH_DEFAULT);
    tenant.quotas[QUOTA_DEVICE_BYTES] = tenant.quotas[QUOTA_HOST_BYTES] = 0;
    tenant.quotas[QUOTA_DEPTH] = 0;
    limits = execution_limits_of(&tenant, (uint64_t)8 << 30, &nobody);
    assert_int_equal(limits.device_bytes, 1);
    assert_int_equal(limits.host_bytes, EXECUTION_LIMITS_HOST_MIN);
    assert_int_equal(limits.depth, 1);
    tenant.quotas[QUOTA_DEPTH] = tenant.quotas[QUOTA_DEVICE_BYTES] = INT64_MAX;
    limits = execution_limits_of(&tenant, 0, &nobody);
    assert_int_equal(limits.depth, INT32_MAX);
    assert_int_equal(limits.device_bytes, INT64_MAX);
}

typedef struct Quotas {
    int64_t device_bytes, depth;
} Quotas;

static Error *set_quotas(Connection *catalog, void *context) {
    const Quotas *quotas = context;
    TRY(tenants_set_quota(catalog, TENANT_DEFAULT, QUOTA_DEVICE_BYTES, quotas->device_bytes));
    return tenants_set_quota(catalog, TENANT_DEFAULT, QUOTA_DEPTH, quotas->depth);
}

static void check_fails(ControlFixture *fixture, const char *function, const char *saying) {
    OWN(JobEventList, list) = NULL;
    JobId id;
    Job job;
    assert_ok(control_fixture_submit(fixture, function, 500, false, NULL, &id));
    control_fixture_wait(fixture, id, JOB_STATE_FAILED, &job);
    assert_ok(job_events_list(fixture->store, TENANT_DEFAULT, id, 0, &list));
    const char *why = list->items[list->count - 1].why;
    if (!strstr(why, saying)) fail_msg("%s: %s", function, why);
}

/* A program that takes more fails with the figure; who runs beside it does not notice. A quota of
 * more than there is on earth changes nothing. */
static void test_execution_limits_end_what_takes_more(void **state) {
    (void)state;
    static const struct {
        Quotas quotas;
        const char *function, *saying;
    } cases[] = {
        {{QUOTA_UNLIMITED, 100}, "deep", "calls nest deeper than 100 frames"},
        {{1 << 20, QUOTA_UNLIMITED}, "hoards", "of 1048576"},
        {{QUOTA_UNLIMITED, QUOTA_UNLIMITED}, "hoards", "the largest has 8388608"},
        {{INT64_MAX, INT64_MAX}, "hoards", "the largest has 8388608"},
    };
    static const char *const devices[] = {"sim:0,memory=8MiB", NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ControlFixture OWN_CONTROL(fixture);
        Quotas quotas = cases[i].quotas;
        JobId beside;
        Job job;
        control_fixture_init(&fixture);
        control_fixture_start(&fixture, devices);
        assert_ok(catalog_run(fixture.catalog, set_quotas, &quotas));
        assert_ok(control_fixture_submit(&fixture, "four", 40, true, NULL, &beside));
        check_fails(&fixture, cases[i].function, cases[i].saying);
        control_fixture_wait(&fixture, beside, JOB_STATE_SUCCEEDED, &job);
        control_fixture_check(&fixture, beside, 40, 4);
        assert_ok(control_check(fixture.control));
    }
}

static void test_native_code_is_allowed_by_the_tenants_name(void **state) {
    (void)state;
    ExecutionOptions options = {0};
    Tenant tenant = {.name = "research"};
    const NativeTenants native = {.names = {"ops", "research"}, .count = 2, .preload = "lib.so"};
    ExecutionLimits limits = execution_limits_of(&tenant, 0, &native);
    execution_limits_apply(&limits, &options);
    assert_true(options.native.allowed);
    assert_string_equal(options.native.preload, "lib.so");
    (void)snprintf(tenant.name, sizeof tenant.name, "researcher");
    limits = execution_limits_of(&tenant, 0, &native);
    execution_limits_apply(&limits, &options);
    assert_false(options.native.allowed);
}

int test_execution_limits(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native_code_is_allowed_by_the_tenants_name),
        cmocka_unit_test(test_execution_limits_are_the_quotas),
        cmocka_unit_test(test_execution_limits_are_never_absent),
        cmocka_unit_test(test_execution_limits_end_what_takes_more),
    };
    return cmocka_run_group_tests_name("execution_limits", tests, NULL, NULL);
}
