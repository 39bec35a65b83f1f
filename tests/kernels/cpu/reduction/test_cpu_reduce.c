#include <math.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/everywhere.h"

static const char *const names[] = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin",
    "ReduceProd", "ReduceL2", "ReduceSumSquare"};
enum { SUM, MEAN, MAX, MIN, PROD, L2, SUM_SQUARE, NAMES };

static double start(int name) {
    if (name == MAX) return -HUGE_VAL;
    if (name == MIN) return HUGE_VAL;
    return name == PROD ? 1 : 0;
}

static double step(int name, double total, double x) {
    if (name == MAX) return fmax(total, x);
    if (name == MIN) return fmin(total, x);
    if (name == PROD) return total * x;
    return total + (name == L2 || name == SUM_SQUARE ? x * x : x);
}

/* mask: bit d: dimension d is reduced. */
static void check(int name, DType dtype, const Shape *shape, uint32_t mask, double tolerance) {
    double axes[SHAPE_RANK_MAX];
    uint32_t axis_count = 0;
    for (uint32_t d = 0; d < shape->rank; d++)
        if (mask >> d & 1) axes[axis_count++] = (double)d - (d % 2 ? shape->rank : 0);
    DeviceCall call = {
        .operator_name = names[name], .attributes = "{keepdims=1}", .input_count = 2};
    double limit = name == PROD ? 1.3 : 9;
    call.inputs[0] = device_tensor_random(dtype, shape, name == PROD ? 0.7 : -limit, limit, 5);
    call.inputs[1] = device_tensor(DTYPE_INT64, axes, 1, (int)axis_count);
    Tensor *out = NULL;
    everywhere_run(&call, &out);
    int64_t outputs = shape_count_unchecked(&out->shape);
    int64_t inputs = shape_count_unchecked(shape), strides[SHAPE_RANK_MAX];
    double *totals = malloc((size_t)(outputs + 1) * sizeof(double));
    assert_non_null(totals);
    for (int64_t i = 0; i < outputs; i++) totals[i] = start(name);
    shape_broadcast_strides(&out->shape, shape, strides);
    for (int64_t i = 0; i < inputs; i++) {
        int64_t rest = i, at = 0;
        for (uint32_t d = shape->rank; d-- > 0; rest /= shape->dims[d])
            at += rest % shape->dims[d] * strides[d];
        totals[at] = step(name, totals[at], device_tensor_get(call.inputs[0], i));
    }
    for (int64_t i = 0; i < outputs; i++) {
        if (name == MEAN) totals[i] /= (double)(inputs / outputs);
        if (name == L2) totals[i] = sqrt(totals[i]);
        if (!dtype_is_float(dtype)) totals[i] = trunc(totals[i]);
        double got = device_tensor_get(out, i);
        if (fabs(got - totals[i]) > tolerance * (1 + fabs(totals[i])))
            fail_msg("%s of %s, mask %u: element %lld is %g, not %g", names[name],
                dtype_name(dtype), mask, (long long)i, got, totals[i]);
    }
    free(totals);
    tensor_release(out);
    everywhere_release(&call);
}

static void test_every_pattern_of_dimensions_agrees_with_one_element_at_a_time(void **state) {
    static const Shape shapes[] = {{4, {3, 5, 7, 4}}, {3, {2, 1, 300}}, {2, {300, 40}}, {1, {33}}};
    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (uint32_t mask = 1; mask < 1u << shapes[i].rank; mask++) {
            for (int name = 0; name < NAMES; name++)
                check(name, DTYPE_FLOAT32, &shapes[i], mask, 1e-4);
            check(SUM, DTYPE_INT32, &shapes[i], mask, 0);
            check(MAX, DTYPE_INT8, &shapes[i], mask, 0);
            check(MIN, DTYPE_INT64, &shapes[i], mask, 0);
            check(MEAN, DTYPE_FLOAT16, &shapes[i], mask, 2e-3);
            check(SUM_SQUARE, DTYPE_BFLOAT16, &shapes[i], mask, 1e-2);
            check(L2, DTYPE_FLOAT64, &shapes[i], mask, 1e-12);
        }
}

/* Long enough to be cut into segments, along rows and along columns. */
static void test_long_reductions_are_cut_alike_for_any_number_of_threads(void **state) {
    const Shape row = {2, {2, 200003}}, column = {2, {9001, 7}}, wide = {3, {3, 5000, 300}};
    (void)state;
    check(SUM, DTYPE_FLOAT32, &row, 2, 1e-4);
    check(MAX, DTYPE_FLOAT32, &row, 3, 0);
    check(MEAN, DTYPE_FLOAT32, &column, 1, 1e-5);
    check(SUM, DTYPE_INT64, &column, 1, 0);
    check(PROD, DTYPE_FLOAT64, &(Shape){1, {70000}}, 1, 1e-9);
    check(MIN, DTYPE_FLOAT16, &column, 3, 0);
    check(SUM, DTYPE_FLOAT32, &wide, 2, 1e-4);
}

static void reduce_nothing(const char *name, DType dtype, double expected) {
    const double axis = 1;
    DeviceCall call = {.operator_name = name, .input_count = 2};
    call.inputs[0] = device_tensor(dtype, &axis, 2, 2, 0);
    call.inputs[1] = device_tensor(DTYPE_INT64, &axis, 1, 1);
    everywhere_check(&call, (double[]){expected, expected}, 0);
    everywhere_release(&call);
}

static void test_reductions_of_nothing_have_their_neutral_values(void **state) {
    (void)state;
    reduce_nothing("ReduceSum", DTYPE_FLOAT32, 0);
    reduce_nothing("ReduceProd", DTYPE_FLOAT16, 1);
    reduce_nothing("ReduceMax", DTYPE_FLOAT32, (double)-INFINITY);
    reduce_nothing("ReduceMin", DTYPE_FLOAT64, (double)INFINITY);
    reduce_nothing("ReduceMax", DTYPE_INT8, -128);
    reduce_nothing("ReduceMin", DTYPE_INT32, 2147483647);
    reduce_nothing("ReduceMin", DTYPE_UINT16, 65535);
    reduce_nothing("ReduceMax", DTYPE_BOOL, 0);
    reduce_nothing("ReduceMin", DTYPE_BOOL, 1);
    reduce_nothing("ReduceMean", DTYPE_FLOAT32, (double)NAN);
    reduce_nothing("ReduceMean", DTYPE_INT32, 0);
    reduce_nothing("ReduceL1", DTYPE_BFLOAT16, 0);
    reduce_nothing("ReduceLogSum", DTYPE_FLOAT32, -(double)INFINITY);
}

static void test_magnitudes_of_the_lowest_integers_wrap(void **state) {
    const double low = -128, x[2] = {-9223372036854775807.0 - 1, -1};
    (void)state;
    DeviceCall call = {.operator_name = "ReduceL1", .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_INT8, &low, 1, 1);
    everywhere_check(&call, (double[]){-128}, 0);
    everywhere_release(&call);
    call.inputs[0] = device_tensor(DTYPE_INT64, x, 1, 2);
    everywhere_check(&call, (double[]){-9223372036854775807.0}, 0);
    everywhere_release(&call);
}

static void test_nan_wins_and_empty_axes_may_mean_no_reduction(void **state) {
    const double x[4] = {1, (double)NAN, -4, 4};
    (void)state;
    DeviceCall call = {.operator_name = "ReduceMax", .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 2, 2, 2);
    everywhere_check(&call, (double[]){(double)NAN}, 0);
    call.operator_name = "ReduceL2";
    call.attributes = "{noop_with_empty_axes=1}";
    everywhere_check(&call, (double[]){1, (double)NAN, 4, 4}, 0);
    everywhere_release(&call);
}

int test_cpu_reduce(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pattern_of_dimensions_agrees_with_one_element_at_a_time),
        cmocka_unit_test(test_long_reductions_are_cut_alike_for_any_number_of_threads),
        cmocka_unit_test(test_reductions_of_nothing_have_their_neutral_values),
        cmocka_unit_test(test_magnitudes_of_the_lowest_integers_wrap),
        cmocka_unit_test(test_nan_wins_and_empty_axes_may_mean_no_reduction),
    };
    return cmocka_run_group_tests_name("cpu_reduce", tests, NULL, NULL);
}
