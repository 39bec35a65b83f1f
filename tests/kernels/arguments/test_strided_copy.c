#include "kernels/arguments/strided_copy.h"

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/infer_fixture.h"

enum { TENSORS_MAX = 3, ELEMENTS_MAX = 16 };

typedef struct Row {
    const char *operator_name, *attributes, *inputs; /* their elements are numbered through */
    uint32_t output_count, copy_count;
    int64_t expected[TENSORS_MAX][ELEMENTS_MAX];
} Row;

static const Row rows[] = {
    {"Transpose", NULL, "float32[2,3]", 1, 1, {{0, 3, 1, 4, 2, 5}}},
    {"Expand", NULL, "float32[2,1] int64[2]=2,3", 1, 1, {{0, 0, 0, 1, 1, 1}}},
    {"Tile", NULL, "float32[2,2] int64[2]=1,2", 1, 1, {{0, 1, 0, 1, 2, 3, 2, 3}}},
    {"Slice", NULL, "float32[5] int64[1]=-1 int64[1]=-6 int64[1]=0 int64[1]=-2", 1, 1, {{4, 2, 0}}},
    {"Concat", "{axis=1}", "float32[2,1] float32[2,2]", 1, 2, {{0, 2, 3, 1, 4, 5}}},
    {"Concat", "{axis=0}", "float32[2] float32[0] float32[1]", 1, 3, {{0, 1, 2}}},
    {"Split", "{axis=1}", "float32[2,3] int64[2]=2,1", 2, 2, {{0, 1, 3, 4}, {2, 5}}},
    {"Split", "{axis=-1}", "float32[3] int64[3]=0,1,2", 3, 3, {{0}, {0}, {1, 2}}},
};

typedef struct Run {
    const PlanRequest *request;
    int64_t inputs[TENSORS_MAX][ELEMENTS_MAX], outputs[TENSORS_MAX][ELEMENTS_MAX];
    uint32_t copies;
} Run;

static void check_within(int64_t index, const TensorSpec *tensor) {
    assert_true(index >= 0 && index < shape_count_unchecked(&tensor->shape));
}

/* As slowly as can be. */
static void copy_elements(void *context, uint32_t index, const StridedCopy *copy) {
    Run *run = context;
    int64_t count = 1;
    assert_int_equal(index, run->copies++);
    for (uint32_t i = 0; i < copy->rank; i++) count *= copy->dims[i];
    for (int64_t n = 0; n < count; n++) {
        int64_t rest = n, from = copy->from_offset, to = copy->to_offset;
        for (uint32_t i = copy->rank; i-- > 0; rest /= copy->dims[i]) {
            from += rest % copy->dims[i] * copy->from_strides[i];
            to += rest % copy->dims[i] * copy->to_strides[i];
        }
        check_within(from, &run->request->inputs[copy->input]);
        check_within(to, &run->request->outputs[copy->output]);
        assert_int_equal(run->outputs[copy->output][to], -1); /* each is written once */
        run->outputs[copy->output][to] = run->inputs[copy->input][from];
    }
}

static void check(const Row *row) {
    InferFixture fixture;
    PlanRequest *request = &fixture.request;
    Run run = {.request = request};
    int64_t number = 0;
    infer_fixture_init(
        &fixture, row->operator_name, row->attributes, row->inputs, row->output_count);
    for (uint32_t i = 0; i < request->input_count && !request->values[i]; i++)
        for (int64_t j = 0; j < shape_count_unchecked(&request->inputs[i].shape); j++)
            run.inputs[i][j] = number++;
    memset(run.outputs, -1, sizeof run.outputs);
    assert_ok(operator_infer(request));
    assert_ok(strided_copy_each(request, copy_elements, &run));
    assert_int_equal(run.copies, row->copy_count);
    assert_int_equal(strided_copy_count(request), row->copy_count);
    for (uint32_t i = 0; i < row->output_count; i++)
        for (int64_t j = 0; j < shape_count_unchecked(&request->outputs[i].shape); j++)
            if (run.outputs[i][j] != row->expected[i][j])
                fail_msg("%s: element %lld of output %u is %lld", row->operator_name, (long long)j,
                    i, (long long)run.outputs[i][j]);
    infer_fixture_deinit(&fixture);
}

static void test_copies_make_the_outputs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) check(&rows[i]);
}

static void show_nothing(void *context, uint32_t index, const StridedCopy *copy) {
    (void)context;
    (void)copy;
    fail_msg("copy %u is shown", index);
}

/* Requests that no shape rule has seen. */
static void test_nothing_is_shown_of_a_request_that_is_wrong(void **state) {
    (void)state;
    InferFixture fixture;
    infer_fixture_init(&fixture, "Concat", "{axis=2}", "float32[3,4] float32[3,4]", 1);
    assert_fails(INVALID, strided_copy_each(&fixture.request, show_nothing, NULL));
    infer_fixture_deinit(&fixture);
    infer_fixture_init(&fixture, "Split", "{axis=0}", "float32[3] int64[2]=1,1", 2);
    assert_fails(INVALID, strided_copy_each(&fixture.request, show_nothing, NULL));
    infer_fixture_deinit(&fixture);
    infer_fixture_init(&fixture, "Relu", NULL, "float32[3]", 1);
    assert_fails(INTERNAL, strided_copy_each(&fixture.request, show_nothing, NULL));
    infer_fixture_deinit(&fixture);
}

int test_strided_copy(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_make_the_outputs),
        cmocka_unit_test(test_nothing_is_shown_of_a_request_that_is_wrong),
    };
    return cmocka_run_group_tests_name("strided_copy", tests, NULL, NULL);
}
