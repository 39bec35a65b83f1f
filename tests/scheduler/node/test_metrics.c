#include "scheduler/node/metrics.h"

#include <pthread.h>
#include <stdio.h>

#include "tests/support/test_support.h"

static void test_metrics_are_declared_once_and_well(void **state) {
    (void)state;
    for (MetricId metric = 0; metric < METRIC_COUNT; metric++) {
        const MetricInfo *info = metric_info(metric);
        bool total = text_ends_with(info->name, "_total"), counts;
        counts = info->kind == METRIC_KIND_COUNTER || info->kind == METRIC_KIND_SAMPLED_COUNTER;
        assert_true(text_starts_with(info->name, "layover_") && info->help[0]);
        assert_int_equal(total, counts);
        if (info->kind == METRIC_KIND_SECONDS)
            assert_true(text_ends_with(info->name, "_seconds") && !strchr(info->labels, ' '));
        for (MetricId other = 0; other < metric; other++)
            assert_string_not_equal(info->name, metric_info(other)->name);
    }
}

static Error *collect(void *self, MetricId metric, MetricSamples *samples) {
    (void)self;
    if (metric == METRIC_JOBS) metrics_sample(samples, (const char *const[]){"a\"b\\\n"}, 3);
    if (metric == METRIC_STORE_BYTES) metrics_sample(samples, (const char *const[]){"t"}, 1.5);
    return NULL;
}

static void test_metrics_are_printed_for_prometheus(void **state) {
    (void)state;
    static const char *const rows[] = {"route=\"a\",status=\"2xx\"", "route=\"b\",status=\"2xx\""};
    OWN(Metrics, metrics) = NULL;
    TextBuilder OWN_TEXT(text) = {0};
    assert_ok(metrics_create(&metrics));
    assert_ok(metrics_set_rows(metrics, METRIC_HTTP_REQUESTS, rows, 2));
    assert_ok(metrics_add_source(metrics, (MetricSource){.collect = collect}));
    metrics_add(metrics, METRIC_HTTP_REQUESTS, 1, 5);
    metrics_increment(metrics, METRIC_JOBS_SUBMITTED);
    metrics_set(metrics, METRIC_HTTP_STREAMS, 4);
    metrics_observe_ns(metrics, METRIC_SUSPEND_SECONDS, 1500000);
    metrics_observe_ns(metrics, METRIC_SUSPEND_SECONDS, 100000000000u);
    assert_ok(metrics_print(metrics, &text));
    const char *out = text_builder_get(&text);
    assert_non_null(strstr(out, "# TYPE layover_http_requests_total counter\n"
                                "layover_http_requests_total{route=\"a\",status=\"2xx\"} 0\n"
                                "layover_http_requests_total{route=\"b\",status=\"2xx\"} 5\n"));
    assert_non_null(strstr(out, "layover_jobs_submitted_total 1\n"));
    assert_non_null(strstr(out, "layover_http_streams 4\n"));
    assert_non_null(strstr(out, "layover_jobs{state=\"a\\\"b\\\\\\n\"} 3\n"));
    assert_non_null(strstr(out, "layover_store_bytes{tenant=\"t\"} 1.5\n"));
    assert_non_null(strstr(out, "layover_suspend_seconds_bucket{le=\"0.001\"} 0\n"));
    assert_non_null(strstr(out, "layover_suspend_seconds_bucket{le=\"0.002\"} 1\n"));
    assert_non_null(strstr(out, "layover_suspend_seconds_bucket{le=\"+Inf\"} 2\n"));
    assert_non_null(strstr(out, "layover_suspend_seconds_count 2\n"));
}

/* A few rows are there from the start; of many only those that counted something. */
static void test_metrics_leave_out_zeros_of_many_rows(void **state) {
    (void)state;
    static const char *const rows[20] = {[0 ... 18] = "route=\"a\"", [19] = "route=\"b\""};
    OWN(Metrics, metrics) = NULL;
    TextBuilder OWN_TEXT(text) = {0};
    assert_ok(metrics_create(&metrics));
    assert_ok(metrics_set_rows(metrics, METRIC_HTTP_REQUESTS, rows, 20));
    metrics_add(metrics, METRIC_HTTP_REQUESTS, 19, 2);
    assert_ok(metrics_print(metrics, &text));
    assert_non_null(strstr(text_builder_get(&text), "{route=\"b\"} 2\n"));
    assert_null(strstr(text_builder_get(&text), "{route=\"a\"}"));
}

/* Each value has a histogram of its own, up to the limit; a name may have quotes. */
static void test_metrics_bound_the_series_of_a_label(void **state) {
    (void)state;
    OWN(Metrics, metrics) = NULL;
    TextBuilder OWN_TEXT(text) = {0};
    assert_ok(metrics_create(&metrics));
    metrics_observe_of(metrics, METRIC_SLICE_SECONDS, "a\"b", 1500000);
    assert_ok(metrics_print(metrics, &text));
    const char *out = text_builder_get(&text);
    assert_non_null(
        strstr(out, "# TYPE layover_slice_seconds histogram\n"
                    "layover_slice_seconds_bucket{device=\"a\\\"b\",le=\"5e-06\"} 0\n"));
    assert_non_null(strstr(out, "_bucket{device=\"a\\\"b\",le=\"+Inf\"} 1\n"
                                "layover_slice_seconds_sum{device=\"a\\\"b\"} 0.0015"));
    assert_null(strstr(out, METRIC_OTHERS));
    for (int i = 0; i < METRIC_SERIES_MAX + 5; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "d%d", i);
        metrics_observe_of(metrics, METRIC_SLICE_SECONDS, name, 1000);
    }
    TextBuilder OWN_TEXT(full) = {0};
    assert_ok(metrics_print(metrics, &full));
    out = text_builder_get(&full);
    assert_non_null(strstr(out, "layover_slice_seconds_count{device=\"d62\"} 1\n"));
    assert_null(strstr(out, "device=\"d63\""));
    assert_non_null(strstr(out, "layover_slice_seconds_count{device=\"" METRIC_OTHERS "\"} 6\n"));
}

static void *count(void *metrics) {
    for (int i = 0; i < 10000; i++) {
        metrics_observe_of(metrics, METRIC_SLICE_SECONDS, i % 2 ? "one" : "two", 1);
        metrics_increment(metrics, METRIC_SLICES);
        metrics_observe_ns(metrics, METRIC_SWITCH_SECONDS, 7000);
    }
    return NULL;
}

static void test_metrics_lose_nothing_between_threads(void **state) {
    (void)state;
    pthread_t threads[4];
    OWN(Metrics, metrics) = NULL;
    TextBuilder OWN_TEXT(text) = {0};
    assert_ok(metrics_create(&metrics));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count, metrics), 0);
    for (size_t i = 0; i < 4; i++) (void)pthread_join(threads[i], NULL);
    assert_ok(metrics_print(metrics, &text));
    assert_non_null(strstr(text_builder_get(&text), "layover_slices_total 40000\n"));
    assert_non_null(strstr(text_builder_get(&text), "layover_switch_seconds_count 40000\n"));
    assert_non_null(
        strstr(text_builder_get(&text), "layover_slice_seconds_count{device=\"two\"} 20000\n"));
}

int test_metrics(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics_are_declared_once_and_well),
        cmocka_unit_test(test_metrics_are_printed_for_prometheus),
        cmocka_unit_test(test_metrics_leave_out_zeros_of_many_rows),
        cmocka_unit_test(test_metrics_bound_the_series_of_a_label),
        cmocka_unit_test(test_metrics_lose_nothing_between_threads),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
