#include <stdio.h>

#include "base/allocator.h"
#include "base/file.h"
#include "serialize/arrays/npz.h"
#include "tests/tools/tools_fixtures.h"
#include "tools/run/run_machine.h"

static const char program[] =
    "constant @x = float32[2] {1, -2}\n"
    "constant @half = float 0.5\n"
    "constant @yes = bool true\n"
    "constant @text = string \"no array\"\n"
    "function one() -> (y: float32[2]) exported {\n Ret @x\n}\n"
    "function unnamed() exported {\n Ret 7\n}\n"
    "function pair() -> (a: float32[2], b: any) exported {\n AllocADT 0, @half, @yes -> r0\n"
    " AllocADT 0, @x, r0 -> r1\n Ret r1\n}\n"
    "function none() -> () exported {\n AllocADT 0 -> r0\n Ret r0\n}\n"
    "function yields() -> (last: any) exported {\n Yield @x\n Yield 3\n Ret 5\n}\n"
    "function text() -> (t: any) exported {\n Ret @text\n}\n";

/* What the function returns, through a file. */
static Error *outputs_of(const char *function, ArrayList *out_arrays) {
    ToolsRun OWN_RUN(run) = {0};
    OWN(Execution, execution) = NULL;
    char folder[64], path[128];
    tools_run_open(program, &run);
    assert_ok(tools_run_function(&run, function, &execution));
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/out.npz", folder);
    Error *error = run_outputs_write(execution, NULL, path);
    if (!error) {
        uint8_t *data;
        size_t size;
        assert_ok(file_read(path, 1 << 20, &data, &size));
        assert_ok(npz_read(data, size, 1 << 20, out_arrays));
        memory_unmap(data, size);
    } else
        assert_int_not_equal(remove(path), 0); /* nothing half written stands there */
    test_folder_remove(folder);
    return error;
}

static const NamedArray *find(const ArrayList *arrays, const char *name, DType dtype) {
    const NamedArray *array = array_list_find(arrays, name);
    if (!array) fail_msg("no output %s", name);
    assert_int_equal(array->dtype, dtype);
    return array;
}

static void test_run_outputs_of_one_tensor(void **state) {
    (void)state;
    static const float expected[] = {1, -2};
    ArrayList OWN_ARRAYS(arrays) = {0};
    assert_ok(outputs_of("one", &arrays));
    assert_int_equal(arrays.count, 1);
    const NamedArray *y = find(&arrays, "y", DTYPE_FLOAT32);
    assert_int_equal(y->shape.rank, 1);
    assert_memory_equal(y->data, expected, sizeof expected);
}

static void test_run_outputs_without_a_declaration_are_named_output(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(arrays) = {0};
    assert_ok(outputs_of("unnamed", &arrays));
    assert_int_equal(find(&arrays, "output", DTYPE_INT64)->data[0], 7);
}

/* Tuples inside outputs are numbered, and scalars are arrays of rank 0. */
static void test_run_outputs_of_tuples(void **state) {
    (void)state;
    double half;
    ArrayList OWN_ARRAYS(arrays) = {0};
    assert_ok(outputs_of("pair", &arrays));
    assert_int_equal(arrays.count, 3);
    (void)find(&arrays, "a", DTYPE_FLOAT32);
    memcpy(&half, find(&arrays, "b.0", DTYPE_FLOAT64)->data, sizeof half);
    assert_true(half == 0.5);
    assert_int_equal(find(&arrays, "b.1", DTYPE_BOOL)->data[0], 1);
    assert_int_equal(find(&arrays, "b.1", DTYPE_BOOL)->shape.rank, 0);
}

static void test_run_outputs_of_nothing(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(arrays) = {0};
    assert_ok(outputs_of("none", &arrays));
    assert_int_equal(arrays.count, 0);
}

static void test_run_outputs_hold_what_was_yielded(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(arrays) = {0};
    assert_ok(outputs_of("yields", &arrays));
    assert_int_equal(arrays.count, 3);
    (void)find(&arrays, "yield.0", DTYPE_FLOAT32);
    assert_int_equal(find(&arrays, "yield.1", DTYPE_INT64)->data[0], 3);
    assert_int_equal(find(&arrays, "last", DTYPE_INT64)->data[0], 5);
}

static void test_run_outputs_refuse_what_is_no_array(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(arrays) = {0};
    assert_fails_saying(UNSUPPORTED, "output t is a string", outputs_of("text", &arrays));
}

/* What is printed is what a file gets. */
static void test_run_outputs_are_collected_for_printing(void **state) {
    (void)state;
    ToolsRun OWN_RUN(run) = {0};
    OWN(Execution, execution) = NULL;
    ArrayList OWN_ARRAYS(earlier) = {0};
    ArrayList OWN_ARRAYS(arrays) = {0};
    NamedArray array;
    static const char *const texts[] = {"text"};
    const Shape shape = shape_make(1, (const int64_t[]){1});
    tools_run_open(program, &run);
    assert_ok(tools_run_function(&run, "yields", &execution));
    assert_ok(named_array_init_texts(&array, "before", &shape, texts));
    assert_ok(array_list_add(&earlier, &array));
    assert_ok(run_outputs_collect(execution, &earlier, &arrays));
    assert_int_equal(arrays.count, 4);
    assert_string_equal(find(&arrays, "before", DTYPE_STRING)->texts[0], "text");
    (void)find(&arrays, "yield.0", DTYPE_FLOAT32);
    assert_int_equal(find(&arrays, "last", DTYPE_INT64)->data[0], 5);
    assert_string_equal(earlier.items[0].texts[0], "text");
}

int test_run_outputs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_outputs_of_one_tensor),
        cmocka_unit_test(test_run_outputs_without_a_declaration_are_named_output),
        cmocka_unit_test(test_run_outputs_of_tuples),
        cmocka_unit_test(test_run_outputs_of_nothing),
        cmocka_unit_test(test_run_outputs_hold_what_was_yielded),
        cmocka_unit_test(test_run_outputs_refuse_what_is_no_array),
        cmocka_unit_test(test_run_outputs_are_collected_for_printing),
    };
    return cmocka_run_group_tests_name("run_outputs", tests, NULL, NULL);
}
