#include "scheduler/executor/batch.h"

#include "serialize/arrays/array_values.h"
#include "tests/scheduler/executor_fixtures.h"

static const char program[] =
    "function free(a: float32[n, 2], w: float32[3]) -> (y: float32[n, 2]) exported {\n Ret r0\n}\n"
    "function one(a: float32[1, 2], w: float32[3]) -> (y: float32[1, 2]) exported {\n Ret r0\n}\n"
    "function fixed(a: float32[4, 2]) -> (y: float32[4, 2]) exported {\n Ret r0\n}\n"
    "function scalar(a: float32[]) -> (y: float32[]) exported {\n Ret r0\n}\n"
    "function two(a: float32[n, 2], b: float32[m]) -> (y: float32[n, 2]) exported {\n Ret r0\n}\n";

static const char *const shared[] = {"w"};

static Error *make(const ExecutorFixture *fixture, const char *function, int64_t a_items,
    const char *other, int64_t other_count, const BatchOptions *options, Batch **out) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    uint32_t index;
    const Shape a = {.rank = 2, .dims = {a_items, 2}}, scalar = {0};
    Shape rest = shape_make(1, &other_count);
    fixture_add_floats(&inputs, "a", a_items < 0 ? &scalar : &a, 1);
    if (other) fixture_add_floats(&inputs, other, &rest, 100);
    TRY(executable_find_function(fixture->executable, function, &index));
    return batch_create(fixture->executable, index, &inputs, options, out);
}

static void check_run(const Batch *batch, uint64_t run, int64_t items, float first) {
    Value *values;
    assert_ok(batch_get_arguments(batch, run, &values));
    assert_int_equal(values[0].tensor->shape.dims[0], items);
    assert_int_equal(values[0].tensor->shape.dims[1], 2);
    assert_true(*(const float *)tensor_data(values[0].tensor) == first);
    assert_true(values[0].tensor->storage->sealed);
    assert_true(*(const float *)tensor_data(values[1].tensor) == 100);
    array_values_release(values, 2);
}

static void test_batch_cuts_items_and_shares_the_rest(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    OWN(Batch, batch) = NULL;
    BatchOptions options = {.items = true, .size = 3, .shared = shared, .shared_count = 1};
    executor_fixture_init(&fixture, program, "cpu");
    assert_ok(make(&fixture, "free", 7, "w", 3, &options, &batch));
    assert_int_equal(batch_item_count(batch), 7);
    assert_int_equal(batch_run_count(batch), 3);
    assert_int_equal(batch_bytes(batch), 7 * 8 + 12);
    check_run(batch, 0, 3, 1);
    check_run(batch, 1, 3, 7);
    check_run(batch, 2, 1, 13);
    assert_int_equal(batch_items_before(batch, 2), 6);
    assert_int_equal(batch_items_before(batch, 3), 7);
}

static void test_batch_of_a_model_with_a_leading_one_has_one_item_a_run(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    OWN(Batch, batch) = NULL;
    BatchOptions options = {.items = true, .size = 3, .shared = shared, .shared_count = 1};
    executor_fixture_init(&fixture, program, "cpu");
    assert_ok(make(&fixture, "one", 5, "w", 3, &options, &batch));
    assert_int_equal(batch_run_count(batch), 5);
    check_run(batch, 4, 1, 9);
}

static void test_batch_of_a_single_run_takes_everything_whole(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    OWN(Batch, batch) = NULL;
    BatchOptions options = {0};
    executor_fixture_init(&fixture, program, "cpu");
    assert_ok(make(&fixture, "free", 7, "w", 3, &options, &batch));
    assert_int_equal(batch_item_count(batch), BATCH_SINGLE);
    assert_int_equal(batch_run_count(batch), 1);
    assert_int_equal(batch_items_before(batch, 1), 1);
    check_run(batch, 0, 7, 1);
}

static void test_batch_of_no_items_has_no_runs(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    OWN(Batch, batch) = NULL;
    BatchOptions options = {.items = true, .size = 3, .shared = shared, .shared_count = 1};
    executor_fixture_init(&fixture, program, "cpu");
    assert_ok(make(&fixture, "free", 0, "w", 3, &options, &batch));
    assert_int_equal(batch_run_count(batch), 0);
}

/* The inputs hold the items from the 6th on: runs keep their numbers, earlier ones are gone. */
static void test_batch_goes_on_behind_items_that_were_used(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    OWN(Batch, batch) = NULL;
    Value *values;
    BatchOptions options = {
        .items = true, .size = 3, .shared = shared, .shared_count = 1, .items_before = 6};
    executor_fixture_init(&fixture, program, "cpu");
    assert_ok(make(&fixture, "free", 4, "w", 3, &options, &batch));
    assert_int_equal(batch_item_count(batch), 10);
    assert_int_equal(batch_run_count(batch), 4);
    check_run(batch, 2, 3, 1);
    check_run(batch, 3, 1, 7);
    assert_true(batch_has_run(batch, 2) && !batch_has_run(batch, 1) && !batch_has_run(batch, 4));
    assert_fails_saying(INVALID, "used", batch_get_arguments(batch, 1, &values));
    batch_release(TAKE(batch));
    options.items_before = 7; /* within a run */
    assert_fails(INVALID, make(&fixture, "free", 4, "w", 3, &options, &batch));
    assert_ok(
        make(&fixture, "free", 0, "w", 3, &options, &batch)); /* it was the last, shorter one */
    assert_int_equal(batch_run_count(batch), 3);
    batch_release(TAKE(batch));
    options.items_before = INT64_MAX - 1;
    assert_fails(INVALID, make(&fixture, "free", 4, "w", 3, &options, &batch));
    options.items_before = -3;
    assert_fails(INVALID, make(&fixture, "free", 4, "w", 3, &options, &batch));
}

static void test_batch_of_a_single_run_that_has_used_its_inputs(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    OWN(Batch, batch) = NULL;
    ArrayList none = {0};
    BatchOptions options = {.items_before = 1};
    Value *values;
    uint32_t index;
    executor_fixture_init(&fixture, program, "cpu");
    assert_ok(executable_find_function(fixture.executable, "free", &index));
    assert_ok(batch_create(fixture.executable, index, &none, &options, &batch));
    assert_int_equal(batch_run_count(batch), 1);
    assert_int_equal(batch_bytes(batch), 0);
    assert_fails_saying(INVALID, "used", batch_get_arguments(batch, 0, &values));
    batch_release(TAKE(batch));
    assert_fails(INVALID, make(&fixture, "free", 4, "w", 3, &options, &batch));
    options.items_before = 2;
    assert_fails(INVALID, batch_create(fixture.executable, index, &none, &options, &batch));
}

static void test_batch_names_the_input_that_cannot_be_cut(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    executor_fixture_init(&fixture, program, "cpu");
    static const struct {
        const char *function, *other, *says;
        int64_t a_items, other_count;
        BatchOptions options;
    } cases[] = {
        {"fixed", NULL, "input a cannot be cut into items", 4, 0, {.items = true}},
        {"scalar", NULL, "input a has no item axis", -1, 0, {.items = true}},
        {"two", "b", "input b has 5 items, others have 4", 4, 5, {.items = true}},
        {"free", "w", "input w cannot be cut", 4, 3, {.items = true}},
        {"two", "b", "no input w to share", 4, 4,
            {.items = true, .shared = shared, .shared_count = 1}},
        {"free", "x", "no input x", 4, 4, {.items = true}},
        {"free", NULL, "input w of function free is missing", 4, 4, {.items = true}},
        {"two", "b", "at most", 4, 4, {.items = true, .size = BATCH_SIZE_MAX + 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Batch *batch = NULL;
        assert_fails_saying(INVALID, cases[i].says,
            make(&fixture, cases[i].function, cases[i].a_items, cases[i].other,
                cases[i].other_count, &cases[i].options, &batch));
        assert_null(batch);
    }
}

static Error *check_outputs(
    BatchOutputs *outputs, const char *name, uint32_t rank, int64_t items, int64_t more) {
    ArrayList OWN_ARRAYS(arrays) = {0};
    const Shape shape = {.rank = rank, .dims = {rank > 0 ? items : 0, rank > 1 ? more : 0}};
    fixture_add_floats(&arrays, name, &shape, 0);
    return batch_outputs_check(outputs, &arrays, 3);
}

static void test_batch_outputs_must_fit_each_other(void **state) {
    (void)state;
    BatchOutputs outputs = {0};
    assert_fails_saying(FAILED, "output y has no item axis", check_outputs(&outputs, "y", 0, 0, 0));
    batch_outputs_deinit(&outputs);
    assert_ok(check_outputs(&outputs, "y", 2, 3, 5));
    assert_ok(check_outputs(&outputs, "y", 2, 3, 5));
    assert_fails_saying(FAILED, "output y is float32[3, 6] after float32[3, 5]",
        check_outputs(&outputs, "y", 2, 3, 6));
    assert_fails_saying(FAILED, "output z after y", check_outputs(&outputs, "z", 2, 3, 5));
    assert_fails_saying(FAILED, "leading dimension", check_outputs(&outputs, "y", 2, 2, 5));
    ArrayList none = {0};
    assert_fails(FAILED, batch_outputs_check(&outputs, &none, 3));
    batch_outputs_deinit(&outputs);
}

int test_batch(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_cuts_items_and_shares_the_rest),
        cmocka_unit_test(test_batch_of_a_model_with_a_leading_one_has_one_item_a_run),
        cmocka_unit_test(test_batch_of_a_single_run_takes_everything_whole),
        cmocka_unit_test(test_batch_of_no_items_has_no_runs),
        cmocka_unit_test(test_batch_goes_on_behind_items_that_were_used),
        cmocka_unit_test(test_batch_of_a_single_run_that_has_used_its_inputs),
        cmocka_unit_test(test_batch_names_the_input_that_cannot_be_cut),
        cmocka_unit_test(test_batch_outputs_must_fit_each_other),
    };
    return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
