#include "kernels/cpu/normalization/cpu_group_plan.h"

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/infer_fixture.h"
#include "tests/kernels/fixtures/kernel_call.h"

enum { ROWS = 3, COLUMNS = 150 };

static _Atomic uint32_t chunks_seen;

/* The sum of each group, and how many chunks there were. */
static void add_float32(const CpuGroupChunk *chunk, const void *from, void *to) {
    const float *x = from;
    float *y = to, sums[CPU_GROUP_CHUNK] = {0};
    CPU_GROUP_EACH(chunk, i, at, sums[i] += x[at]);
    for (int64_t i = 0; i < chunk->count; i++) y[chunk->output + i] = sums[i];
    chunks_seen++;
}

static void add_float64(const CpuGroupChunk *chunk, const void *from, void *to) {
    const double *x = from;
    double *y = to, sums[CPU_GROUP_CHUNK] = {0};
    CPU_GROUP_EACH(chunk, i, at, sums[i] += x[at]);
    for (int64_t i = 0; i < chunk->count; i++) y[chunk->output + i] = sums[i];
    chunks_seen++;
}

static Plan *plan_of(const char *input, const bool reduced[SHAPE_RANK_MAX]) {
    InferFixture fixture;
    Plan *plan;
    infer_fixture_init(&fixture, "ReduceLogSumExp", "{keepdims=0}", input, 1);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(cpu_group_plan_create(kernel_cpu_device(), &fixture.request, "test.sum", reduced,
        add_float32, add_float64, &plan));
    infer_fixture_deinit(&fixture);
    chunks_seen = 0;
    return plan;
}

static void launch(const Plan *plan, const void *from, void *to) {
    const uint64_t inputs[2] = {(uint64_t)(uintptr_t)from}; /* the axes are in the plan */
    const uint64_t output = (uint64_t)(uintptr_t)to;
    const Launch launch = {.inputs = inputs, .outputs = &output, .threads = 2};
    assert_ok(plan->launch(plan, &launch, &plan->outputs[0].shape));
}

static void test_groups_are_computed_in_chunks_of_their_type(void **state) {
    static const bool columns[SHAPE_RANK_MAX] = {true};
    static float x[ROWS * COLUMNS], y[COLUMNS];
    static double wide_x[ROWS * COLUMNS], wide_y[COLUMNS];
    (void)state;
    for (int i = 0; i < ROWS * COLUMNS; i++) wide_x[i] = x[i] = (float)i;
    OWN(Plan, narrow) = plan_of("float32[3,150] int64[1]=0", columns);
    launch(narrow, x, y);
    assert_int_equal(chunks_seen, 3); /* 64, 64 and 22 */
    OWN(Plan, wide) = plan_of("float64[3,150] int64[1]=0", columns);
    launch(wide, wide_x, wide_y);
    assert_int_equal(chunks_seen, 3);
    for (int i = 0; i < COLUMNS; i++) {
        assert_true(y[i] == (float)(3 * i + 3 * COLUMNS));
        assert_true(wide_y[i] == (double)y[i]);
    }
}

/* However many groups of nothing there are, or groups of which none is stored. */
static void test_no_output_takes_no_time(void **state) {
    static const bool last[SHAPE_RANK_MAX] = {false, true};
    (void)state;
    OWN(Plan, plan) = plan_of("float32[0,1099511627776] int64[1]=1", last);
    launch(plan, NULL, NULL);
    assert_int_equal(chunks_seen, 0);
}

int test_cpu_group_plan(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_are_computed_in_chunks_of_their_type),
        cmocka_unit_test(test_no_output_takes_no_time),
    };
    return cmocka_run_group_tests_name("cpu_group_plan", tests, NULL, NULL);
}
