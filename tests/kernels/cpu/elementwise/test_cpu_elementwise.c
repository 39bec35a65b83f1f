#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

static void unary(const char *name, const char *attributes, DType dtype, const double *x,
    const double *expected, int count, double tolerance) {
    DeviceCall call = {.operator_name = name, .attributes = attributes, .input_count = 1};
    call.inputs[0] = device_tensor(dtype, x, 1, count);
    everywhere_check(&call, expected, tolerance);
    everywhere_release(&call);
}

static void test_functions_have_their_values_at_the_edges(void **state) {
    const double nan = (double)NAN, infinity = (double)INFINITY;
    const double alpha = (double)0.2f; /* ONNX's default is a float32 */
    const double x[6] = {-infinity, -1, -0.0, 0.5, infinity, nan};
    const struct {
        const char *name, *attributes;
        double expected[6];
    } cases[] = {
        {"Exp", NULL, {0, exp(-1), 1, exp(0.5), infinity, nan}},
        {"Log", NULL, {nan, nan, -infinity, log(0.5), infinity, nan}},
        {"Sqrt", NULL, {nan, nan, -0.0, sqrt(0.5), infinity, nan}},
        {"Reciprocal", NULL, {-0.0, -1, -infinity, 2, 0, nan}},
        {"Tanh", NULL, {-1, tanh(-1), 0, tanh(0.5), 1, nan}},
        {"Sigmoid", NULL, {0, 1 / (1 + exp(1)), 0.5, 1 / (1 + exp(-0.5)), 1, nan}},
        {"Erf", NULL, {-1, erf(-1), 0, erf(0.5), 1, nan}},
        {"Sin", NULL, {nan, sin(-1), 0, sin(0.5), nan, nan}},
        {"Cos", NULL, {nan, cos(-1), 1, cos(0.5), nan, nan}},
        {"Relu", NULL, {0, 0, 0, 0.5, infinity, nan}},
        {"LeakyRelu", "{alpha=0.5}", {-infinity, -0.5, 0, 0.5, infinity, nan}},
        {"Elu", "{alpha=2.0}", {-2, 2 * expm1(-1), 0, 0.5, infinity, nan}},
        {"Selu", "{alpha=2.0, gamma=3.0}", {-6, 6 * expm1(-1), 0, 1.5, infinity, nan}},
        {"Softplus", NULL, {0, log1p(exp(-1)), log(2), log1p(exp(0.5)), infinity, nan}},
        {"HardSigmoid", NULL, {0, 0.5 - alpha, 0.5, 0.5 + 0.5 * alpha, 1, nan}},
        {"HardSwish", NULL, {nan, -1.0 / 3, 0, 0.5 * (0.5 / 6 + 0.5), infinity, nan}},
        {"Floor", NULL, {-infinity, -1, 0, 0, infinity, nan}},
        {"Ceil", NULL, {-infinity, -1, 0, 1, infinity, nan}},
        {"Round", NULL, {-infinity, -1, 0, 0, infinity, nan}},
        {"Abs", NULL, {infinity, 1, 0, 0.5, infinity, nan}},
        {"Neg", NULL, {infinity, 1, 0, -0.5, -infinity, nan}},
        {"Sign", NULL, {-1, -1, 0, 1, 1, nan}},
        {"IsNaN", NULL, {0, 0, 0, 0, 0, 1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *name = cases[i].name, *attributes = cases[i].attributes;
        unary(name, attributes, DTYPE_FLOAT32, x, cases[i].expected, 6, 4e-7);
        unary(name, attributes, DTYPE_FLOAT64, x, cases[i].expected, 6, 1e-15);
        unary(name, attributes, DTYPE_FLOAT16, x, cases[i].expected, 6, 1e-3);
        unary(name, attributes, DTYPE_BFLOAT16, x, cases[i].expected, 6, 8e-3);
    }
}

static void test_gelu_in_both_forms(void **state) {
    double x[5] = {-3, -0.5, 0, 1, 10}, erf_form[5], tanh_form[5];
    (void)state;
    for (int i = 0; i < 5; i++) {
        erf_form[i] = 0.5 * x[i] * (1 + erf(x[i] / sqrt(2)));
        double inner = sqrt(2 / M_PI) * (x[i] + 0.044715 * x[i] * x[i] * x[i]);
        tanh_form[i] = 0.5 * x[i] * (1 + tanh(inner));
    }
    unary("Gelu", NULL, DTYPE_FLOAT64, x, erf_form, 5, 1e-12);
    unary("Gelu", "{approximate=\"tanh\"}", DTYPE_FLOAT64, x, tanh_form, 5, 1e-12);
    unary("Gelu", NULL, DTYPE_FLOAT32, x, erf_form, 5, 1e-4);
}

static void binary(const char *name, DType dtype, const double *a, const double *b, int count,
    const double *expected) {
    DeviceCall call = {.operator_name = name, .input_count = 2};
    call.inputs[0] = device_tensor(dtype, a, 1, count);
    call.inputs[1] = device_tensor(dtype, b, 1, count);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_integers_wrap_and_never_trap(void **state) {
    const double a[4] = {-2147483648.0, 2147483647, 7, -7}, b[4] = {-1, 1, 0, 2};
    (void)state;
    binary("Add", DTYPE_INT32, a, b, 4, (double[]){2147483647, -2147483648.0, 7, -5});
    binary("Div", DTYPE_INT32, a, b, 4, (double[]){-2147483648.0, 2147483647, 0, -3});
    binary("Mul", DTYPE_INT32, a, b, 4, (double[]){-2147483648.0, 2147483647, 0, -14});
    binary("Mod", DTYPE_INT32, a, b, 4, (double[]){0, 0, 0, 1});
    binary("Sub", DTYPE_UINT8, (double[]){0, 255}, (double[]){1, 255}, 2, (double[]){255, 0});
    unary("Abs", NULL, DTYPE_INT8, (double[]){-128, -1, 5}, (double[]){-128, 1, 5}, 3, 0);
    unary("Neg", NULL, DTYPE_INT16, (double[]){-32768, 5}, (double[]){-32768, -5}, 2, 0);
}

static void test_comparisons_with_nan_are_false(void **state) {
    const double nan = (double)NAN, a[4] = {1, nan, 2, -0.0}, b[4] = {1, nan, 3, 0.0};
    (void)state;
    binary("Equal", DTYPE_FLOAT32, a, b, 4, (double[]){1, 0, 0, 1});
    binary("Less", DTYPE_FLOAT32, a, b, 4, (double[]){0, 0, 1, 0});
    binary("Greater", DTYPE_FLOAT16, b, a, 4, (double[]){0, 0, 1, 0});
    binary("LessOrEqual", DTYPE_FLOAT64, a, b, 4, (double[]){1, 0, 1, 1});
    binary("GreaterOrEqual", DTYPE_INT64, b + 2, a + 2, 1, (double[]){1});
}

static void test_where_broadcasts_three_ways(void **state) {
    const double condition[2] = {1, 0}, a[3] = {1, 2, 3}, b[1] = {-1};
    (void)state;
    DeviceCall call = {.operator_name = "Where", .input_count = 3};
    call.inputs[0] = device_tensor(DTYPE_BOOL, condition, 2, 2, 1);
    call.inputs[1] = device_tensor(DTYPE_INT16, a, 1, 3);
    call.inputs[2] = device_tensor(DTYPE_INT16, b, 0);
    everywhere_check(&call, (double[]){1, 2, 3, -1, -1, -1}, 0);
    everywhere_release(&call);
}

/* A program gives the very bits of its steps run one by one, for each element type. */
static void test_a_fused_program_equals_its_steps(void **state) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    static const Shape shapes[][2] = {{{3, {4, 33, 70}}, {1, {70}}},
        {{3, {4, 33, 5}}, {2, {33, 1}}}, {{1, {9000}}, {0}}, {{2, {0, 3}}, {1, {3}}}};
    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++) {
            Tensor *x = device_tensor_random(dtypes[i], &shapes[k][0], -3, 3, 1);
            Tensor *y = device_tensor_random(dtypes[i], &shapes[k][1], -3, 3, 2);
            double half = 0.5;
            Tensor *c = device_tensor(dtypes[i], &half, 0);
            Tensor *product = NULL, *erf_of = NULL, *sum = NULL, *result = NULL, *fused = NULL;
            DeviceCall call = {.operator_name = "Mul", .input_count = 2, .inputs = {x, y}};
            everywhere_run(&call, &product);
            call = (DeviceCall){.operator_name = "Erf", .input_count = 1, .inputs = {product}};
            everywhere_run(&call, &erf_of);
            call = (DeviceCall){.operator_name = "Add", .input_count = 2, .inputs = {erf_of, c}};
            everywhere_run(&call, &sum);
            call = (DeviceCall){.operator_name = "LeakyRelu",
                .attributes = "{alpha=0.25}",
                .input_count = 1,
                .inputs = {sum}};
            everywhere_run(&call, &result);
            call = (DeviceCall){.operator_name = "FusedElementwise",
                .attributes = "{constants=[0.5], program=\"Mul i0 i1; Erf r0; Add r1 c0; "
                              "LeakyRelu r2 {alpha=0.25}\"}",
                .input_count = 2,
                .inputs = {x, y}};
            everywhere_run(&call, &fused);
            assert_true(device_tensor_hash(fused) == device_tensor_hash(result));
            Tensor *all[] = {x, y, c, product, erf_of, sum, result, fused};
            for (size_t n = 0; n < 8; n++) tensor_release(all[n]);
        }
}

/* Steps of several element types in one program. */
static void test_a_fused_program_may_compare_and_select(void **state) {
    const double x[4] = {-2, -1, 1, 2};
    (void)state;
    DeviceCall call = {.operator_name = "FusedElementwise",
        .attributes = "{constants=[0.0, 3.0], program=\"Less i0 c0; Mul i0 c1; Where r0 r1 i0; "
                      "Cast r2 {to=int64}\"}",
        .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 1, 4);
    everywhere_check(&call, (double[]){-6, -3, 1, 2}, 0);
    everywhere_release(&call);
}

int test_cpu_elementwise(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_have_their_values_at_the_edges),
        cmocka_unit_test(test_gelu_in_both_forms),
        cmocka_unit_test(test_integers_wrap_and_never_trap),
        cmocka_unit_test(test_comparisons_with_nan_are_false),
        cmocka_unit_test(test_where_broadcasts_three_ways),
        cmocka_unit_test(test_a_fused_program_equals_its_steps),
        cmocka_unit_test(test_a_fused_program_may_compare_and_select),
    };
    return cmocka_run_group_tests_name("cpu_elementwise", tests, NULL, NULL);
}
