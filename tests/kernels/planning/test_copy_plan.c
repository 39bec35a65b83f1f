#include "kernels/planning/copy_plan.h"

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/infer_fixture.h"

/* A device whose copies only say what they were given. */
typedef struct NotedCopy {
    int64_t from_offset, to_offset;
    uint32_t element_size;
    char filler[7]; /* no multiple of the alignment */
} NotedCopy;

typedef struct Noted {
    uint32_t count;
    NotedCopy copies[4];
    uint64_t to[4], from[4];
} Noted;

static Noted noted;

static void prepare(const StridedCopy *copy, uint32_t element_size, void *out_prepared) {
    NotedCopy *made = out_prepared;
    assert_int_equal((uintptr_t)out_prepared % 16, 0);
    assert_int_equal(made->element_size, 0);
    *made = (NotedCopy){copy->from_offset, copy->to_offset, element_size, {0}};
}

static Error *run(
    const Plan *plan, const Launch *launch, const void *prepared, uint64_t to, uint64_t from) {
    (void)plan, (void)launch;
    noted.copies[noted.count] = *(const NotedCopy *)prepared;
    noted.to[noted.count] = to;
    noted.from[noted.count++] = from;
    if (noted.count == 4) FAIL(DEVICE_LOST, "the fourth copy");
    return NULL;
}

static const CopyPlanDevice copies = {sizeof(NotedCopy), prepare, run};

static Plan *plan_of(const char *name, const char *attributes, const char *inputs, uint32_t count) {
    InferFixture fixture;
    Plan *plan;
    infer_fixture_init(&fixture, name, attributes, inputs, count);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(copy_plan_create(NULL, &fixture.request, "test.copy", &copies, &plan));
    infer_fixture_deinit(&fixture);
    noted = (Noted){0};
    return plan;
}

static void test_a_copy_goes_to_and_from_its_operands(void **state) {
    (void)state;
    static const uint64_t inputs[] = {100, 200}, outputs[] = {1000, 2000};
    const Launch launch = {.inputs = inputs, .outputs = outputs};
    OWN(Plan, concat) = plan_of("Concat", "{axis=0}", "int16[3] int16[2]", 1);
    assert_string_equal(concat->kernel_name, "test.copy");
    assert_ok(concat->launch(concat, &launch, NULL));
    assert_int_equal(noted.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(noted.from[i], inputs[i]);
        assert_int_equal(noted.to[i], outputs[0]);
        assert_int_equal(noted.copies[i].element_size, 2);
        assert_int_equal(noted.copies[i].to_offset, i == 0 ? 0 : 3);
    }
    OWN(Plan, split) = plan_of("Split", "{axis=0}", "float64[3] int64[2]=1,2", 2);
    assert_ok(split->launch(split, &launch, NULL));
    assert_int_equal(noted.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(noted.from[i], inputs[0]);
        assert_int_equal(noted.to[i], outputs[i]);
        assert_int_equal(noted.copies[i].element_size, 8);
        assert_int_equal(noted.copies[i].from_offset, i);
    }
}

/* The copies behind the one that failed are not run. */
static void test_a_copy_that_fails_ends_the_launch(void **state) {
    (void)state;
    static const uint64_t inputs[5] = {1, 2, 3, 4, 5}, outputs[] = {9};
    const Launch launch = {.inputs = inputs, .outputs = outputs};
    OWN(Plan, plan) = plan_of("Concat", "{axis=0}", "int8[1] int8[1] int8[1] int8[1] int8[1]", 1);
    assert_fails_saying(DEVICE_LOST, "the fourth copy", plan->launch(plan, &launch, NULL));
    assert_int_equal(noted.count, 4);
}

static void test_a_request_that_is_wrong_makes_no_plan(void **state) {
    (void)state;
    InferFixture fixture;
    Plan *plan = NULL;
    infer_fixture_init(&fixture, "Concat", "{axis=2}", "float32[3,4] float32[3,4]", 1);
    assert_fails(INVALID, copy_plan_create(NULL, &fixture.request, "test.copy", &copies, &plan));
    assert_null(plan);
    infer_fixture_deinit(&fixture);
}

int test_copy_plan(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_copy_goes_to_and_from_its_operands),
        cmocka_unit_test(test_a_copy_that_fails_ends_the_launch),
        cmocka_unit_test(test_a_request_that_is_wrong_makes_no_plan),
    };
    return cmocka_run_group_tests_name("copy_plan", tests, NULL, NULL);
}
