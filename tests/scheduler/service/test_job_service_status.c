#include <stdio.h>

#include "store/accounts/tenants.h"
#include "tests/scheduler/service_fixtures.h"

typedef struct QuotaChange {
    QuotaId quota;
    int64_t value;
} QuotaChange;

static Error *set(Connection *catalog, void *context) {
    const QuotaChange *change = context;
    return tenants_set_quota(catalog, TENANT_DEFAULT, change->quota, change->value);
}

static void set_quota(ServiceFixture *fixture, QuotaId quota, int64_t value) {
    QuotaChange change = {quota, value};
    assert_ok(catalog_run(fixture->node.catalog, set, &change));
    fixture->api.class_->tenant_changed(fixture->api.self, TENANT_DEFAULT);
}

static void get(ServiceFixture *fixture, JobsApiJob *inout_job) {
    char job[JOBS_API_ID_SIZE];
    (void)snprintf(job, sizeof job, "%s", inout_job->job);
    assert_ok(fixture->api.class_->get(fixture->api.self, &fixture->user, job, inout_job));
}

static void wait_for_why(ServiceFixture *fixture, const char *words, JobsApiJob *inout_job) {
    for (int i = 0; i < 60000; i++) {
        get(fixture, inout_job);
        if (strstr(inout_job->why, words)) return;
        fixture_pause_ms(2);
    }
    fail_msg("the job says \"%s\", not \"%s\"", inout_job->why, words);
}

/* What waits says for what; a quota that is changed acts on what waits already. */
static void test_job_service_says_which_quota_a_job_waits_for(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiJob first, second;
    JobsApiUse use;
    service_fixture_init(&fixture);
    set_quota(&fixture, QUOTA_RUNNING_JOBS, 1);
    assert_ok(service_fixture_submit(&fixture, "forever", 1, false, &first));
    service_fixture_wait(&fixture, "running", &first);
    assert_ok(service_fixture_submit(&fixture, "forever", 1, false, &second));
    wait_for_why(&fixture, "quota", &second);
    assert_string_equal(second.state, "queued");
    assert_string_equal(second.why, "waits for the tenant's quota running_jobs: 1 of 1 run");
    fixture.api.class_->use(fixture.api.self, TENANT_DEFAULT, &use);
    assert_int_equal(use.running_jobs, 1);
    set_quota(&fixture, QUOTA_RUNNING_JOBS, QUOTA_UNLIMITED);
    service_fixture_wait(&fixture, "running", &second);
    assert_string_equal(second.why, "");
}

static void test_job_service_stops_at_the_hours_device_time(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiJob first, second;
    JobsApiUse use = {0};
    service_fixture_init(&fixture);
    set_quota(&fixture, QUOTA_DEVICE_SECONDS_PER_HOUR, 1);
    assert_ok(service_fixture_submit(&fixture, "forever", 1, false, &first));
    for (int i = 0; i < 3000 && use.device_seconds_per_hour < 1; i++) {
        fixture_pause_ms(10);
        fixture.api.class_->use(fixture.api.self, TENANT_DEFAULT, &use);
    }
    assert_true(use.device_seconds_per_hour >= 1);
    double used = use.device_seconds_per_hour;
    assert_ok(service_fixture_submit(&fixture, "four", 1, false, &second));
    wait_for_why(&fixture, "device_seconds_per_hour", &second);
    assert_string_equal(second.state, "queued");
    assert_non_null(strstr(second.why, "of 1 used"));
    fixture.api.class_->use(fixture.api.self, TENANT_DEFAULT, &use);
    assert_true(use.device_seconds_per_hour == used); /* nothing ran since */
    set_quota(&fixture, QUOTA_DEVICE_SECONDS_PER_HOUR, 1000);
    service_fixture_wait(&fixture, "succeeded", &second);
}

int test_job_service_status(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_service_says_which_quota_a_job_waits_for),
        cmocka_unit_test(test_job_service_stops_at_the_hours_device_time),
    };
    return cmocka_run_group_tests_name("job_service_status", tests, NULL, NULL);
}
