#include <math.h>

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/everywhere.h"

enum { OUTPUTS = 4 };

/* expected: first the values, then first places, places of all, counts; -1 behind each. */
static void check(const char *attributes, Tensor *owned_input, const double *const *expected) {
    Tensor *outputs[OUTPUTS] = {NULL};
    DeviceCall call = {.operator_name = "Unique",
        .attributes = attributes,
        .input_count = 1,
        .output_count = OUTPUTS,
        .inputs = {owned_input}};
    everywhere_run(&call, outputs);
    for (uint32_t i = 0; i < OUTPUTS; i++) {
        everywhere_compare(outputs[i], expected[i], 0);
        tensor_release(outputs[i]);
    }
    everywhere_release(&call);
}

static void test_elements_come_sorted_or_as_they_first_stood(void **state) {
    static const double x[6] = {2, 1, 1, 3, 4, 3};
    const double *const sorted[] = {(double[]){1, 2, 3, 4}, (double[]){1, 0, 3, 4},
        (double[]){1, 0, 0, 2, 3, 2}, (double[]){2, 1, 2, 1}};
    const double *const first[] = {(double[]){2, 1, 3, 4}, (double[]){0, 1, 3, 4},
        (double[]){0, 1, 1, 2, 3, 2}, (double[]){1, 2, 2, 1}};
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_INT64, DTYPE_BFLOAT16, DTYPE_UINT8};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        check(NULL, device_tensor(dtypes[i], x, 2, 2, 3), sorted);
        check("{sorted=0}", device_tensor(dtypes[i], x, 1, 6), first);
    }
}

static void test_slices_are_compared_along_an_axis(void **state) {
    static const double rows[9] = {1, 0, 0, 1, 0, 0, 0, 3, 4};
    const double *const expected[] = {
        (double[]){0, 3, 4, 1, 0, 0}, (double[]){2, 0}, (double[]){1, 1, 0}, (double[]){1, 2}};
    const double *const columns[] = {
        (double[]){0, 1, 0, 1, 3, 0}, (double[]){1, 0}, (double[]){1, 0, 0}, (double[]){2, 1}};
    static const double twice[9] = {1, 0, 0, 1, 0, 0, 0, 3, 3};
    (void)state;
    check("{axis=0}", device_tensor(DTYPE_INT32, rows, 2, 3, 3), expected);
    check("{axis=-1}", device_tensor(DTYPE_INT32, twice, 2, 3, 3), columns);
}

/* Any byte but 0 is true; -0 is 0; all NaN are one, behind everything. */
static void test_equal_elements_may_look_different(void **state) {
    static const double numbers[5] = {(double)NAN, 0, -0.0, (double)INFINITY, (double)NAN};
    const double *const expected[] = {(double[]){0, (double)INFINITY, (double)NAN},
        (double[]){1, 3, 0}, (double[]){2, 0, 0, 1, 2}, (double[]){2, 1, 2}};
    const double *const truths[] = {
        (double[]){0, 1}, (double[]){1, 0}, (double[]){1, 0, 1}, (double[]){1, 2}};
    (void)state;
    check(NULL, device_tensor(DTYPE_FLOAT32, numbers, 1, 5), expected);
    Tensor *bools = device_tensor(DTYPE_BOOL, (double[]){1, 0, 1}, 1, 3);
    ((uint8_t *)tensor_data(bools))[2] = 2;
    check(NULL, bools, truths);
}

static void test_slices_of_nothing_are_all_the_same(void **state) {
    const double *const one[] = {(double[]){0}, (double[]){0}, (double[]){0, 0, 0}, (double[]){3}};
    const double *const none[] = {NULL, NULL, NULL, NULL};
    (void)state;
    check("{axis=0}", device_tensor(DTYPE_INT8, (double[]){0}, 2, 3, 0), one);
    check("{axis=1}", device_tensor(DTYPE_INT8, (double[]){0}, 2, 3, 0), none);
}

static Error *plan_for(DType dtype, int64_t count, Plan **out) {
    OWN(Attributes, attributes) = NULL;
    TensorSpec spec = {.present = true, .dtype = dtype, .shape = {1, {count}}};
    assert_ok(attributes_create(&attributes));
    PlanRequest request = {.operator_info = operator_find("Unique"),
        .attributes = attributes,
        .input_count = 1,
        .output_count = 1,
        .inputs = &spec};
    assert_ok(attributes_check(attributes, request.operator_info));
    assert_ok(operator_infer(&request));
    return everywhere_cpu()->class_->plan(everywhere_cpu(), &request, out);
}

static void test_an_input_that_changes_after_it_was_counted_is_an_error(void **state) {
    (void)state;
    OWN(Plan, plan) = NULL;
    int32_t x[4] = {1, 1, 1, 1}, to[2] = {-1, -1};
    uint64_t workspace[64];
    assert_ok(plan_for(DTYPE_INT32, 4, &plan));
    assert_true(plan->workspace_bytes <= sizeof workspace);
    uint64_t input = (uint64_t)(uintptr_t)x, output = (uint64_t)(uintptr_t)to;
    Launch launch = {.inputs = &input,
        .outputs = &output,
        .workspace = (uint64_t)(uintptr_t)workspace,
        .threads = 1};
    Shape shape = plan->outputs[0].shape;
    assert_ok(plan->measure(plan, &launch, &shape));
    assert_int_equal(shape.dims[0], 1);
    x[2] = 5;
    assert_fails_saying(
        FAILED, "Unique: the input changed while it was read", plan->launch(plan, &launch, &shape));
    assert_int_equal(to[0], -1);
}

static void test_a_workspace_beyond_all_memory_is_refused(void **state) {
    (void)state;
    Plan *plan = NULL;
    assert_fails_saying(
        INVALID, "Unique: too many elements", plan_for(DTYPE_INT8, (int64_t)1 << 61, &plan));
}

int test_cpu_unique(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_come_sorted_or_as_they_first_stood),
        cmocka_unit_test(test_slices_are_compared_along_an_axis),
        cmocka_unit_test(test_equal_elements_may_look_different),
        cmocka_unit_test(test_slices_of_nothing_are_all_the_same),
        cmocka_unit_test(test_an_input_that_changes_after_it_was_counted_is_an_error),
        cmocka_unit_test(test_a_workspace_beyond_all_memory_is_refused),
    };
    return cmocka_run_group_tests_name("cpu_unique", tests, NULL, NULL);
}
