#include "kernels/planning/plan_table.h"

#include <pthread.h>

#include "kernels/device/device.h"
#include "kernels/registry/device_registry.h"
#include "tests/kernels/fixtures/infer_fixture.h"

static Device *device;

static int setup(void **state) {
    (void)state;
    assert_ok(device_open("cpu", &device));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    device_close(device);
    return 0;
}

/* The plan's address, which stands for the plan while the table holds it. */
static const void *get(PlanTable *table, uint32_t primitive, const char *name, const char *inputs) {
    InferFixture fixture;
    OWN(Plan, plan) = NULL;
    infer_fixture_init(&fixture, name, NULL, inputs, 1);
    assert_ok(plan_table_get(table, primitive, &fixture.request, &plan));
    assert_true(fixture.request.outputs[0].present);
    infer_fixture_deinit(&fixture);
    return plan;
}

static void test_plan_table_finds_equal_calls(void **state) {
    (void)state;
    OWN(PlanTable, table) = NULL;
    assert_ok(plan_table_create(device, &table));
    const void *plan = get(table, 0, "Add", "float32[2,3] float32[3]");
    assert_ptr_equal(get(table, 0, "Add", "float32[2,3] float32[3]"), plan);
    assert_ptr_not_equal(get(table, 1, "Add", "float32[2,3] float32[3]"), plan);
    assert_ptr_not_equal(get(table, 0, "Add", "float32[2,3] float32[1]"), plan);
    assert_ptr_not_equal(get(table, 0, "Add", "float64[2,3] float64[3]"), plan);
    assert_ptr_not_equal(get(table, 0, "Add", "float32[2,3] float32[1,3]"), plan);
}

/* Values are part of the key where the shape rule reads them, and only there. */
static void test_plan_table_keys_hold_the_values_read(void **state) {
    (void)state;
    OWN(PlanTable, table) = NULL;
    assert_ok(plan_table_create(device, &table));
    const void *plan = get(table, 0, "Reshape", "float32[4] int64[2]=2,2");
    assert_ptr_equal(get(table, 0, "Reshape", "float32[4] int64[2]=2,2"), plan);
    assert_ptr_not_equal(get(table, 0, "Reshape", "float32[4] int64[2]=4,1"), plan);
    const void *gather = get(table, 1, "Gather", "float32[4] int64[2]=2,2");
    assert_ptr_equal(get(table, 1, "Gather", "float32[4] int64[2]=0,1"), gather);
}

static void test_plan_table_keeps_no_failures(void **state) {
    (void)state;
    OWN(PlanTable, table) = NULL;
    InferFixture fixture;
    Plan *plan = NULL;
    assert_ok(plan_table_create(device, &table));
    infer_fixture_init(&fixture, "Add", NULL, "float32[2] float32[3]", 1);
    assert_fails(INVALID, plan_table_get(table, 0, &fixture.request, &plan));
    assert_fails(INVALID, plan_table_get(table, 0, &fixture.request, &plan));
    assert_null(plan);
    infer_fixture_deinit(&fixture);
}

/* The host's memory is a device without kernels. */
static void test_plan_table_refuses_for_a_device_that_runs_nothing(void **state) {
    (void)state;
    OWN(PlanTable, table) = NULL;
    InferFixture fixture;
    Plan *plan = NULL;
    assert_ok(plan_table_create(device_host(), &table));
    infer_fixture_init(&fixture, "Add", NULL, "float32[2] float32[2]", 1);
    assert_fails_saying(
        UNSUPPORTED, "host: no kernel for Add", plan_table_get(table, 0, &fixture.request, &plan));
    assert_null(plan);
    infer_fixture_deinit(&fixture);
}

/* Beyond the limit the oldest go; what others hold stays good. */
static void test_plan_table_is_bounded(void **state) {
    (void)state;
    OWN(PlanTable, table) = NULL;
    InferFixture fixture;
    Plan *first = NULL;
    assert_ok(plan_table_create(device, &table));
    infer_fixture_init(&fixture, "Identity", NULL, "float32[1]", 1);
    assert_ok(plan_table_get(table, 0, &fixture.request, &first));
    for (uint32_t i = 1; i <= PLAN_TABLE_COUNT_MAX; i++) {
        OWN(Plan, plan) = NULL;
        assert_ok(plan_table_get(table, i, &fixture.request, &plan));
    }
    OWN(Plan, again) = NULL;
    OWN(Plan, kept) = NULL;
    assert_ok(plan_table_get(table, 0, &fixture.request, &again));
    assert_ptr_not_equal(again, first);
    assert_true(first->view);
    assert_ok(plan_table_get(table, PLAN_TABLE_COUNT_MAX, &fixture.request, &kept));
    assert_false(refcount_is_sole(&kept->refcount));
    plan_release(first);
    infer_fixture_deinit(&fixture);
}

typedef struct Race {
    PlanTable *table;
    uint64_t plans[64];
} Race;

static void *race(void *argument) {
    Race *own = argument;
    for (uint32_t i = 0; i < 64; i++) {
        InferFixture fixture;
        Plan *plan = NULL;
        infer_fixture_init(&fixture, "Add", NULL, "float32[2,3] float32[3]", 1);
        if (plan_table_get(own->table, i, &fixture.request, &plan)) return argument;
        own->plans[i] = (uint64_t)(uintptr_t)plan;
        plan_release(plan);
        infer_fixture_deinit(&fixture);
    }
    return NULL;
}

static void test_plan_table_gives_racing_threads_one_plan(void **state) {
    (void)state;
    OWN(PlanTable, table) = NULL;
    pthread_t threads[3];
    Race races[3];
    assert_ok(plan_table_create(device, &table));
    for (int i = 0; i < 3; i++) {
        races[i].table = table;
        assert_int_equal(pthread_create(&threads[i], NULL, race, &races[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_null(result);
    }
    for (int i = 0; i < 64; i++) {
        assert_true(races[0].plans[i] == races[1].plans[i]);
        assert_true(races[0].plans[i] == races[2].plans[i]);
    }
}

int test_plan_table(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_table_finds_equal_calls),
        cmocka_unit_test(test_plan_table_keys_hold_the_values_read),
        cmocka_unit_test(test_plan_table_keeps_no_failures),
        cmocka_unit_test(test_plan_table_refuses_for_a_device_that_runs_nothing),
        cmocka_unit_test(test_plan_table_is_bounded),
        cmocka_unit_test(test_plan_table_gives_racing_threads_one_plan),
    };
    return cmocka_run_group_tests_name("plan_table", tests, setup, teardown);
}
