#include "kernels/cpu/elementwise/cpu_pointwise.h"
#include "tests/kernels/fixtures/everywhere.h"

/* Every way of walking: contiguous, scalar, rows long and short, columns, middles, blocks that end
 * within rows, nothing at all. */
static void test_every_broadcast_pattern_agrees_with_one_element_at_a_time(void **state) {
    static const Shape pairs[][2] = {
        {{0}, {0}},
        {{1, {1}}, {3, {1, 1, 1}}},
        {{1, {5000}}, {1, {5000}}},
        {{2, {3, 700}}, {0}},
        {{0}, {2, {3, 700}}},
        {{2, {70, 700}}, {1, {700}}},
        {{1, {700}}, {2, {70, 700}}},
        {{2, {70, 700}}, {2, {70, 1}}},
        {{2, {3, 1}}, {2, {1, 1100}}},
        {{2, {300, 3}}, {1, {3}}},
        {{2, {70, 100}}, {1, {100}}},
        {{3, {9, 7, 100}}, {2, {1, 100}}},
        {{3, {5, 31, 33}}, {3, {1, 1, 33}}},
        {{3, {5, 31, 33}}, {3, {1, 31, 33}}},
        {{2, {300, 3}}, {2, {300, 1}}},
        {{2, {40, 1}}, {2, {1, 50}}},
        {{4, {2, 3, 4, 5}}, {3, {3, 1, 1}}},
        {{4, {2, 8, 14, 14}}, {3, {8, 1, 1}}},
        {{5, {2, 1, 3, 1, 4}}, {5, {1, 5, 1, 6, 1}}},
        {{2, {0, 5}}, {1, {5}}},
        {{3, {4, 1, 0}}, {2, {7, 1}}},
        {{2, {2, 20000}}, {2, {2, 1}}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        for (int which = 0; which < 3; which++) {
            static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_INT64, DTYPE_FLOAT16};
            DeviceCall call = {.operator_name = "Sub", .input_count = 2};
            for (int k = 0; k < 2; k++)
                call.inputs[k] =
                    device_tensor_random(dtypes[which], &pairs[i][k], -100, 100, 7 + (uint64_t)k);
            Tensor *out = NULL;
            everywhere_run(&call, &out);
            int64_t a[SHAPE_RANK_MAX], b[SHAPE_RANK_MAX];
            shape_broadcast_strides(&pairs[i][0], &out->shape, a);
            shape_broadcast_strides(&pairs[i][1], &out->shape, b);
            for (int64_t n = 0; n < shape_count_unchecked(&out->shape); n++) {
                int64_t rest = n, at_a = 0, at_b = 0;
                for (uint32_t d = out->shape.rank; d-- > 0; rest /= out->shape.dims[d]) {
                    at_a += rest % out->shape.dims[d] * a[d];
                    at_b += rest % out->shape.dims[d] * b[d];
                }
                double want = device_tensor_get(call.inputs[0], at_a) -
                              device_tensor_get(call.inputs[1], at_b);
                double got = device_tensor_get(out, n);
                double slack = which == 2 ? 0.07 : which == 0 ? 1e-5 : 0;
                assert_true(got - want <= slack && want - got <= slack);
            }
            tensor_release(out);
            everywhere_release(&call);
        }
}

/* More results alive at once than there are slots: refused, not overrun. */
static void test_a_program_with_too_many_live_results_is_declined(void **state) {
    (void)state;
    OWN(CpuPointwise, program) = NULL;
    assert_ok(cpu_pointwise_create(CPU_LEVEL_PORTABLE, &program));
    CpuSource input = {CPU_SOURCE_INPUT, 0, DTYPE_FLOAT32}, results[200];
    for (int i = 0; i < 200; i++)
        results[i] =
            cpu_pointwise_add_operator(program, OPERATOR_EXP, NULL, &input, 1, DTYPE_FLOAT32);
    CpuSource sum = results[0];
    for (int i = 1; i < 200; i++) {
        CpuSource both[2] = {sum, results[i]};
        sum = cpu_pointwise_add_operator(program, OPERATOR_ADD, NULL, both, 2, DTYPE_FLOAT32);
    }
    assert_false(program->missing);
    TensorSpec spec = {.present = true, .dtype = DTYPE_FLOAT32, .shape = {1, {100}}};
    PlanRequest request = {.operator_info = operator_find("Exp"),
        .input_count = 1,
        .output_count = 1,
        .inputs = &spec};
    request.outputs[0] = spec;
    Plan *plan = (Plan *)&spec;
    assert_ok(cpu_pointwise_plan(everywhere_cpu(), &request, "test", program, &plan));
    assert_null(plan);
}

/* A step that nothing uses is not run: its input may have any shape. */
static void test_unused_steps_do_not_run(void **state) {
    (void)state;
    OWN(CpuPointwise, program) = NULL;
    assert_ok(cpu_pointwise_create(CPU_LEVEL_PORTABLE, &program));
    CpuSource a = {CPU_SOURCE_INPUT, 0, DTYPE_FLOAT32}, b = {CPU_SOURCE_INPUT, 1, DTYPE_FLOAT32};
    (void)cpu_pointwise_add_operator(program, OPERATOR_EXP, NULL, &a, 1, DTYPE_FLOAT32);
    (void)cpu_pointwise_add_operator(program, OPERATOR_NEG, NULL, &b, 1, DTYPE_FLOAT32);
    TensorSpec specs[2] = {{.present = true, .dtype = DTYPE_FLOAT32, .shape = {1, {1000}}},
        {.present = true, .dtype = DTYPE_FLOAT32, .shape = {1, {3}}}};
    PlanRequest request = {.operator_info = operator_find("Add"),
        .input_count = 2,
        .output_count = 1,
        .inputs = specs};
    request.outputs[0] = specs[1];
    OWN(Plan, plan) = NULL;
    assert_ok(cpu_pointwise_plan(everywhere_cpu(), &request, "test", program, &plan));
    float x[3] = {1, 2, 3}, y[3] = {0};
    uint64_t inputs[2] = {0, (uint64_t)(uintptr_t)x}, output = (uint64_t)(uintptr_t)y;
    Launch launch = {.inputs = inputs, .outputs = &output, .threads = 1};
    assert_ok(plan->launch(plan, &launch, &specs[1].shape));
    assert_true(y[0] == -1 && y[1] == -2 && y[2] == -3);
}

int test_cpu_pointwise(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_broadcast_pattern_agrees_with_one_element_at_a_time),
        cmocka_unit_test(test_a_program_with_too_many_live_results_is_declined),
        cmocka_unit_test(test_unused_steps_do_not_run),
    };
    return cmocka_run_group_tests_name("cpu_pointwise", tests, NULL, NULL);
}
