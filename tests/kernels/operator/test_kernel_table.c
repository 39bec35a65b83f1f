#include "kernels/operator/kernel_table.h"

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/infer_fixture.h"

static Error *plan_first(Device *device, const PlanRequest *request, Plan **out) {
    return plan_create(device, request, "first", 0, out);
}

static Error *plan_second(Device *device, const PlanRequest *request, Plan **out) {
    return plan_create(device, request, "second", 0, out);
}

static Error *decline(Device *device, const PlanRequest *request, Plan **out) {
    (void)device, (void)request;
    *out = NULL;
    return NULL;
}

static Error *refuse(Device *device, const PlanRequest *request, Plan **out) {
    (void)device, (void)request, (void)out;
    FAIL(INVALID, "a bad shape");
}

static const Kernel nothing[] = {KERNELS_END};
static const Kernel one[] = {
    {OPERATOR_NEG, DTYPES_FLOAT, decline, "declines", 0},
    {OPERATOR_NEG, DTYPE_BIT(DTYPE_FLOAT32), plan_first, "first", 0},
    KERNELS_END,
};
static const Kernel other[] = {
    {OPERATOR_NEG, DTYPES_ANY, plan_second, "second", KERNEL_PORTABLE},
    {OPERATOR_EXP, DTYPES_ANY, refuse, "refuses", 0},
    KERNELS_END,
};
static const Kernel *const tables[] = {nothing, one, nothing, other, nothing, NULL};

static void test_rows_are_listed_table_by_table(void **state) {
    (void)state;
    static const char *const names[] = {"declines", "first", "second", "refuses"};
    static const Kernel *const none[] = {NULL};
    KernelRows rows = {tables, 0}, no_rows = {none, 0};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_string_equal(kernel_rows_next(&rows)->name, names[i]);
    assert_null(kernel_rows_next(&rows));
    assert_null(kernel_rows_next(&rows));
    assert_null(kernel_rows_next(&no_rows));
    assert_int_equal(kernel_table_count(nothing), 0);
    assert_int_equal(kernel_table_count(one), 2);
    assert_ptr_equal(kernel_rows_find(tables, OPERATOR_NEG), &one[0]);
    assert_ptr_equal(kernel_rows_find(tables, OPERATOR_EXP), &other[1]);
    assert_null(kernel_rows_find(tables, OPERATOR_ADD));
}

/* The name of the kernel that plans the operator, or NULL. */
static const char *chosen(const char *operator_name, const char *input, uint32_t flags) {
    InferFixture fixture;
    OWN(Plan, plan) = NULL;
    infer_fixture_init(&fixture, operator_name, NULL, input, 1);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(kernel_rows_plan(NULL, tables, flags, &fixture.request, &plan));
    infer_fixture_deinit(&fixture);
    return plan ? plan->kernel_name : NULL;
}

static void test_the_first_row_that_takes_the_request_plans_it(void **state) {
    (void)state;
    assert_string_equal(chosen("Neg", "float32[2]", 0), "first");
    assert_string_equal(chosen("Neg", "float64[2]", 0), "second");
    assert_string_equal(chosen("Neg", "float32[2]", KERNEL_PORTABLE), "second");
    assert_null(chosen("Neg", "float32[2]", KERNEL_BOUNDED));
    assert_null(chosen("Neg", "float32[2]", KERNEL_PORTABLE | KERNEL_BOUNDED));
    assert_null(chosen("Abs", "float32[2]", 0));
}

static void test_an_error_names_the_operator(void **state) {
    (void)state;
    InferFixture fixture;
    Plan *plan = NULL;
    infer_fixture_init(&fixture, "Exp", NULL, "float32[2]", 1);
    assert_ok(operator_infer(&fixture.request));
    assert_fails_saying(
        INVALID, "Exp: a bad shape", kernel_rows_plan(NULL, tables, 0, &fixture.request, &plan));
    assert_null(plan);
    infer_fixture_deinit(&fixture);
}

int test_kernel_table(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_listed_table_by_table),
        cmocka_unit_test(test_the_first_row_that_takes_the_request_plans_it),
        cmocka_unit_test(test_an_error_names_the_operator),
    };
    return cmocka_run_group_tests_name("kernel_table", tests, NULL, NULL);
}
