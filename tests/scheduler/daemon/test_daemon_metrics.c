#include "scheduler/daemon/daemon_metrics.h"

#include <stdio.h>

#include "store/accounts/tenants.h"
#include "tests/scheduler/control_fixtures.h"

static Error *add_tenants(Connection *catalog, void *context) {
    TenantId id;
    (void)context;
    for (int i = 2; i <= DAEMON_METRICS_TENANTS_MAX + 2; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "t%d", i);
        TRY(tenants_add(catalog, name, &id));
        assert_int_equal(id, i);
    }
    return NULL;
}

static void expect_row(const TextBuilder *text, const char *row) {
    if (!strstr(text_builder_get(text), row)) fail_msg("there is no %s", row);
}

static void test_daemon_metrics_show_store_and_control(void **state) {
    (void)state;
    OWN(Metrics, metrics) = NULL;
    ControlFixture OWN_CONTROL(fixture);
    TextBuilder OWN_TEXT(text) = {0};
    JobId id;
    Job job;
    Tenant tenant;
    char row[96];
    assert_ok(metrics_create(&metrics));
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, control_fixture_cpu_and_sim);
    OWN(WeightCache, weights) = NULL;
    assert_ok(weight_cache_open(store_home(fixture.store), 1 << 20, &weights));
    DaemonMetrics sampled = {
        .store = fixture.store, .control = fixture.control, .weights = weights};
    assert_ok(metrics_add_source(metrics, daemon_metrics_source(&sampled)));
    const WeightKey key = {.size = 1};
    CachedWeights *none;
    weight_cache_find(weights, &key, &none);
    assert_ok(control_fixture_submit(&fixture, "four", 2, true, NULL, &id));
    control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
    assert_ok(tenants_get(fixture.store, TENANT_DEFAULT, &tenant));
    assert_ok(metrics_print(metrics, &text));
    for (int i = JOB_STATE_NONE + 1; i < JOB_STATE_COUNT; i++) {
        (void)snprintf(row, sizeof row, "layover_jobs{state=\"%s\"} %d\n",
            job_state_info((JobState)i)->name, i == JOB_STATE_SUCCEEDED);
        expect_row(&text, row);
    }
    (void)snprintf(row, sizeof row, "layover_store_bytes{tenant=\"default\"} %llu\n",
        (unsigned long long)tenant.bytes_stored);
    expect_row(&text, row);
    expect_row(&text, "layover_jobs{state=\"running\"} 0\n");
    expect_row(&text, "layover_queue_depth{tenant=\"default\"} 0\n");
    expect_row(&text, "layover_device_seconds_total{tenant=\"default\"} ");
    assert_null(
        strstr(text_builder_get(&text), "layover_device_seconds_total{tenant=\"default\"} 0\n"));
    expect_row(&text, "layover_device_bytes{device=\"sim:0\"} ");
    expect_row(&text, "layover_device_busy_seconds_total{device=\"cpu\"} ");
    expect_row(&text, "layover_store_file_bytes{file=\"catalog.db-wal\"} ");
    expect_row(&text, "layover_weight_cache_hits_total 0\n");
    expect_row(&text, "layover_weight_cache_misses_total 1\n");
    expect_row(&text, "layover_weight_cache_bytes 0\n");
    expect_row(&text, "layover_weight_cache_evictions_total 0\n");
    expect_row(&text, "layover_weight_cache_damaged_total 0\n");
}

/* However many tenants there are, there are so many rows. */
static void test_daemon_metrics_bound_their_rows(void **state) {
    (void)state;
    OWN(Metrics, metrics) = NULL;
    ControlFixture OWN_CONTROL(fixture);
    TextBuilder OWN_TEXT(text) = {0};
    size_t rows = 0;
    assert_ok(metrics_create(&metrics));
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(catalog_run(fixture.catalog, add_tenants, NULL));
    DaemonMetrics sampled = {.store = fixture.store, .control = fixture.control};
    assert_ok(metrics_add_source(metrics, daemon_metrics_source(&sampled)));
    assert_ok(metrics_print(metrics, &text));
    for (const char *at = text_builder_get(&text); (at = strstr(at, "\nlayover_queue_depth{"));
         at++)
        rows++;
    assert_int_equal(rows, DAEMON_METRICS_TENANTS_MAX + 1);
    expect_row(&text, "layover_queue_depth{tenant=\"t1000\"} 0\n");
    expect_row(&text, "layover_queue_depth{tenant=\"_others\"} 0\n");
    assert_null(strstr(text_builder_get(&text), "t1001"));
}

int test_daemon_metrics(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_daemon_metrics_show_store_and_control),
        cmocka_unit_test(test_daemon_metrics_bound_their_rows),
    };
    return cmocka_run_group_tests_name("daemon_metrics", tests, NULL, NULL);
}
