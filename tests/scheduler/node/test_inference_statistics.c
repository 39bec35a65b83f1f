#include "scheduler/node/inference_statistics.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/test_support.h"

static InferenceSubject subject_of(TenantId tenant, int number) {
    InferenceSubject subject = {.tenant = tenant, .version = 1};
    (void)snprintf(subject.model, sizeof subject.model, "m%d", number);
    return subject;
}

static InferenceSample sample_of(uint64_t batch_size, bool leads) {
    InferenceSample sample = {.items = 1, .batch_size = batch_size, .leads = leads};
    for (InferencePart part = 0; part < INFERENCE_PART_COUNT; part++) sample.ns[part] = 10;
    return sample;
}

/* Joined requests count one run; their items and times count each. */
static void test_inference_statistics_count_runs_once(void **state) {
    (void)state;
    OWN(InferenceStatistics, statistics) = NULL;
    InferenceModelStatistics model;
    const InferenceSubject subject = subject_of(1, 0);
    const InferenceSample failed = {.failed = true, .ns = {[INFERENCE_PART_FAIL] = 7}};
    assert_ok(inference_statistics_create(&statistics));
    for (uint64_t size = 3; size >= 2; size--)
        for (uint64_t i = 0; i < size; i++) {
            const InferenceSample sample = sample_of(size, i == 0);
            inference_statistics_add(statistics, &subject, &sample);
        }
    inference_statistics_add(statistics, &subject, &failed);
    inference_statistics_get(statistics, &subject, &model);
    assert_true(model.items == 5 && model.runs == 2 && model.batch_count == 2 && model.last > 0);
    assert_true(model.batches[0].size == 2 && model.batches[1].size == 3);
    assert_int_equal(model.batches[1].parts[INFERENCE_PART_COMPUTE_INFER].count, 1);
    assert_int_equal(model.batches[1].parts[INFERENCE_PART_QUEUE].count, 0);
    assert_int_equal(model.parts[INFERENCE_PART_COMPUTE_INFER].ns, 50);
    assert_int_equal(model.parts[INFERENCE_PART_FAIL].count, 1);
    assert_int_equal(model.parts[INFERENCE_PART_FAIL].ns, 7);
}

static void test_inference_statistics_bound_sizes_and_models(void **state) {
    (void)state;
    OWN(InferenceStatistics, statistics) = NULL;
    InferenceModelStatistics model;
    enum { MODELS = INFERENCE_STATISTICS_MODELS_MAX + 1, SIZES = 100 };
    const InferenceSubject first = subject_of(1, 0), other = subject_of(2, 0);
    assert_ok(inference_statistics_create(&statistics));
    for (uint64_t size = 1; size <= SIZES; size++) {
        const InferenceSample sample = sample_of(size, true);
        inference_statistics_add(statistics, &other, &sample);
    }
    for (int i = 0; i < MODELS; i++) {
        const InferenceSubject subject = subject_of(1, i);
        const InferenceSample sample = sample_of(1, true);
        inference_statistics_add(statistics, &subject, &sample);
    }
    inference_statistics_get(statistics, &first, &model); /* it made room */
    assert_int_equal(model.runs, 0);
    inference_statistics_get(statistics, &other, &model); /* another tenant's stays */
    assert_int_equal(model.runs, SIZES);
    assert_int_equal(model.batch_count, INFERENCE_STATISTICS_BATCHES_MAX);
}

static void test_inference_statistics_begin_anew_with_another_executable(void **state) {
    (void)state;
    OWN(InferenceStatistics, statistics) = NULL;
    InferenceModelStatistics model;
    InferenceSubject subject = subject_of(1, 0);
    const InferenceSample sample = sample_of(1, true);
    assert_ok(inference_statistics_create(&statistics));
    inference_statistics_add(statistics, &subject, &sample);
    subject.identity.bytes[0] = 1;
    inference_statistics_get(statistics, &subject, &model);
    assert_int_equal(model.runs, 0);
    inference_statistics_add(statistics, &subject, &sample);
    inference_statistics_get(statistics, &subject, &model);
    assert_int_equal(model.runs, 1);
}

static void test_inference_statistics_are_metrics(void **state) {
    (void)state;
    OWN(Metrics, metrics) = NULL;
    OWN(InferenceStatistics, statistics) = NULL;
    TextBuilder OWN_TEXT(text) = {0};
    const InferenceSubject subject = subject_of(1, 0);
    const InferenceSample sample = sample_of(2, true);
    assert_ok(metrics_create(&metrics));
    assert_ok(inference_statistics_create(&statistics));
    assert_ok(metrics_add_source(metrics, inference_statistics_source(statistics)));
    inference_statistics_add(statistics, &subject, &sample);
    assert_ok(metrics_print(metrics, &text));
    static const char *const rows[] = {"layover_inferences_total{part=\"success\"} 1\n",
        "layover_inferences_total{part=\"fail\"} 0\n", "layover_inference_runs_total 1\n",
        "layover_inference_seconds_total{part=\"queue\"} 1e-08\n"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strstr(text_builder_get(&text), rows[i])) fail_msg("there is no %s", rows[i]);
}

int test_inference_statistics(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inference_statistics_count_runs_once),
        cmocka_unit_test(test_inference_statistics_bound_sizes_and_models),
        cmocka_unit_test(test_inference_statistics_begin_anew_with_another_executable),
        cmocka_unit_test(test_inference_statistics_are_metrics),
    };
    return cmocka_run_group_tests_name("inference_statistics", tests, NULL, NULL);
}
