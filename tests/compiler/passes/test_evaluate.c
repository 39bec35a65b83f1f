#include "compiler/passes/evaluate.h"
#include "kernels/registry/device_registry.h"
#include "tests/compiler/compiler_fixtures.h"

static bool evaluate(const char *name, Tensor *a, Tensor *b, uint64_t bytes_max, Tensor **out) {
    OWN(Device, portable) = NULL;
    OWN(Attributes, attributes) = NULL;
    const OperatorInfo *info = operator_find(name);
    bool done;
    Tensor *inputs[2] = {a, b};
    assert_ok(device_open_portable(&portable));
    assert_ok(attributes_create(&attributes));
    assert_ok(attributes_check(attributes, info));
    assert_ok(
        evaluate_operator(portable, info, attributes, b ? 2 : 1, inputs, 1, bytes_max, out, &done));
    return done;
}

static void test_evaluate_runs_operators_on_host_tensors(void **state) {
    (void)state;
    uint64_t random = 1;
    Value a = value_random(&random, 2, (int64_t[]){2, 3});
    Value b = value_random(&random, 1, (int64_t[]){3});
    Tensor *sum = NULL, *none = NULL;
    assert_true(evaluate("Add", a.tensor, b.tensor, 1024, &sum));
    const float *x = tensor_data(a.tensor), *y = tensor_data(b.tensor), *z = tensor_data(sum);
    for (uint32_t i = 0; i < 6; i++) assert_true(z[i] == x[i] + y[i % 3]);
    /* too large, and inputs that the operator refuses: the run will say so */
    assert_false(evaluate("Add", a.tensor, b.tensor, 23, &none));
    assert_false(evaluate("MatMul", a.tensor, a.tensor, 1024, &none));
    assert_null(none);
    tensor_release(sum);
    value_release(&a);
    value_release(&b);
}

/* Unique sorts to know its shape. */
static void test_evaluate_gives_a_workspace_to_what_is_measured(void **state) {
    (void)state;
    Tensor *x, *out = NULL;
    Shape shape = {1, {5}};
    assert_ok(tensor_create_on_host(device_host(), DTYPE_INT32, &shape, &x));
    memcpy(tensor_data(x), (int32_t[]){3, 1, 3, 2, 1}, 20);
    assert_true(evaluate("Unique", x, NULL, 1024, &out));
    assert_int_equal(out->shape.dims[0], 3);
    assert_memory_equal(tensor_data(out), ((int32_t[]){1, 2, 3}), 12);
    tensor_release(out);
    tensor_release(x);
}

static void test_evaluate_views_without_a_launch(void **state) {
    (void)state;
    uint64_t random = 1;
    Value a = value_random(&random, 2, (int64_t[]){2, 3});
    Tensor *view = NULL;
    assert_true(evaluate("Flatten", a.tensor, NULL, 1024, &view));
    assert_ptr_equal(view->storage, a.tensor->storage);
    tensor_release(view);
    value_release(&a);
}

/* Folding one would fix what must be drawn anew. */
static void test_evaluate_leaves_random_numbers_to_the_run(void **state) {
    (void)state;
    OWN(Device, portable) = NULL;
    OWN(Attributes, attributes) = NULL;
    const OperatorInfo *info = operator_find("RandomNormal");
    Tensor *out;
    bool done = true;
    assert_ok(device_open_portable(&portable));
    assert_ok(attributes_create(&attributes));
    assert_ok(attributes_set_ints(attributes, "shape", (int64_t[]){2}, 1));
    assert_ok(attributes_check(attributes, info));
    assert_ok(evaluate_operator(portable, info, attributes, 0, NULL, 1, 64, &out, &done));
    assert_false(done);
}

int test_evaluate(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evaluate_runs_operators_on_host_tensors),
        cmocka_unit_test(test_evaluate_gives_a_workspace_to_what_is_measured),
        cmocka_unit_test(test_evaluate_views_without_a_launch),
        cmocka_unit_test(test_evaluate_leaves_random_numbers_to_the_run),
    };
    return cmocka_run_group_tests_name("evaluate", tests, NULL, NULL);
}
