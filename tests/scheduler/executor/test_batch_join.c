#include "scheduler/executor/batch_join.h"

#include "serialize/arrays/array_values.h"
#include "tests/scheduler/executor_fixtures.h"

static const char program[] =
    "function two(a: float32[n, 2], b: float32[n]) -> (y: float32[n, 2]) exported {\n Ret r0\n}\n"
    "function free(a: float32[?, 2], b: float32[?]) -> (y: float32[?, 2]) exported {\n Ret r0\n}\n"
    "function fixed(a: float32[1, 2]) -> (y: float32[1, 2]) exported {\n Ret r0\n}\n"
    "function square(a: float32[n, n]) -> (y: float32[n, n]) exported {\n Ret r0\n}\n"
    "function apart(a: float32[n, 2], b: float32[m]) -> (y: float32[n, 2]) exported {\n Ret r0\n}\n"
    "function scalar(a: float32[n]) -> (y: float32[]) exported {\n Ret r0\n}\n"
    "function unknown(a: float32[n]) -> (y: any) exported {\n Ret r0\n}\n"
    "function other(a: float32[n]) -> (y: float32[m]) exported {\n Ret r0\n}\n"
    "function whole(a: any) -> (y: any) exported {\n Ret r0\n}\n"
    "function none() -> (y: float32[n]) exported {\n LoadConsti 1 -> r0\n Ret r0\n}\n";

static const Function *find(const ExecutorFixture *fixture, const char *name, uint32_t *out_index) {
    assert_ok(executable_find_function(fixture->executable, name, out_index));
    return &fixture->executable->functions[*out_index];
}

static void test_batch_join_checks_leading_dimensions(void **state) {
    (void)state;
    static const char *const refused[] = {
        "fixed", "square", "apart", "scalar", "unknown", "other", "whole", "none"};
    ExecutorFixture OWN_FIXTURE(fixture);
    uint32_t index;
    executor_fixture_init(&fixture, program, "cpu");
    assert_ok(batch_join_check(find(&fixture, "two", &index)));
    assert_ok(batch_join_check(find(&fixture, "free", &index)));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_fails(UNSUPPORTED, batch_join_check(find(&fixture, refused[i], &index)));
}

/* A run of `free` with a: [a_items, columns] from base on, b: [b_items]. */
static Batch *make(
    const ExecutorFixture *fixture, int64_t a_items, int64_t columns, int64_t b_items, float base) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    const BatchOptions single = {0};
    const Shape a = {.rank = 2, .dims = {a_items, columns}}, b = {.rank = 1, .dims = {b_items}};
    uint32_t index;
    Batch *batch;
    fixture_add_floats(&inputs, "a", &a, base);
    fixture_add_floats(&inputs, "b", &b, base);
    (void)find(fixture, "free", &index);
    assert_ok(batch_create(fixture->executable, index, &inputs, &single, &batch));
    return batch;
}

static void test_batch_join_puts_inputs_behind_each_other(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    OWN(Batch, joined) = NULL;
    uint32_t index;
    Value *values;
    executor_fixture_init(&fixture, program, "cpu");
    const Function *function = find(&fixture, "free", &index);
    OWN(Batch, first) = make(&fixture, 1, 2, 1, 10);
    OWN(Batch, second) = make(&fixture, 3, 2, 3, 20);
    const Batch *const batches[] = {first, second};
    assert_int_equal(batch_join_items(function, second), 3);
    assert_true(batch_join_fits(function, first, second));
    assert_ok(batch_join(fixture.executable, index, batches, 2, &joined));
    assert_ok(batch_get_arguments(joined, 0, &values));
    const float *a = tensor_data(values[0].tensor), *b = tensor_data(values[1].tensor);
    assert_true(values[0].tensor->shape.dims[0] == 4 && values[1].tensor->shape.dims[0] == 4);
    assert_true(a[0] == 10 && a[1] == 11 && a[2] == 20 && a[7] == 25);
    assert_true(b[0] == 10 && b[1] == 20 && b[3] == 22);
    array_values_release(values, function->parameter_count);
}

static void test_batch_join_leaves_others_alone(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    uint32_t index;
    executor_fixture_init(&fixture, program, "cpu");
    const Function *function = find(&fixture, "free", &index);
    OWN(Batch, two) = make(&fixture, 1, 2, 1, 0);
    OWN(Batch, three) = make(&fixture, 1, 3, 1, 0);
    OWN(Batch, uneven) = make(&fixture, 2, 2, 1, 0);
    OWN(Batch, empty) = make(&fixture, 0, 2, 0, 0);
    assert_false(batch_join_fits(function, two, three));
    assert_int_equal(batch_join_items(function, uneven), 0);
    assert_int_equal(batch_join_items(function, empty), 0);
}

static void test_batch_join_cuts_outputs(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(outputs) = {0};
    ArrayList OWN_ARRAYS(part) = {0};
    const Shape rows = {.rank = 2, .dims = {4, 2}}, row = {.rank = 1, .dims = {3}};
    fixture_add_floats(&outputs, "y", &rows, 0);
    assert_ok(batch_join_check_outputs(&outputs, 4));
    assert_ok(batch_join_cut(&outputs, 4, 1, 3, &part));
    assert_true(part.count == 1 && part.items[0].shape.dims[0] == 2 && part.items[0].size == 16);
    assert_true(((const float *)part.items[0].data)[0] == 2);
    assert_true(((const float *)part.items[0].data)[3] == 5);
    fixture_add_floats(&outputs, "sum", &row, 0);
    assert_fails_saying(FAILED, "output sum", batch_join_check_outputs(&outputs, 4));
}

int test_batch_join(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_join_checks_leading_dimensions),
        cmocka_unit_test(test_batch_join_puts_inputs_behind_each_other),
        cmocka_unit_test(test_batch_join_leaves_others_alone),
        cmocka_unit_test(test_batch_join_cuts_outputs),
    };
    return cmocka_run_group_tests_name("batch_join", tests, NULL, NULL);
}
