#include "serialize/arrays/array_values.h"

#include <string.h>

#include "base/allocator.h"
#include "kernels/registry/device_registry.h"
#include "tests/support/test_support.h"
#include "vm/assembly/assembly.h"

static const char program[] =
    "constant @text = string \"words\"\n"
    "function pair(a: float32[n], b: int64[]) -> (x: float32[n], y: int64[]) exported {\n"
    "    AllocADT 0, r0, r1 -> r2\n"
    "    Ret r2\n"
    "}\n"
    "function nested(a: float32[n]) -> (out: any) exported {\n"
    "    ListNew r0, 7 -> r1\n"
    "    AllocADT 3, r1, r0 -> r2\n"
    "    Ret r2\n"
    "}\n"
    "function words() -> (t: any) exported {\n"
    "    Ret @text\n"
    "}\n"
    "constant @dims = shape [4]\n"
    "function unwritten() -> (t: any) exported {\n"
    "    AllocTensorReg _, 0, float32, @dims -> r0\n"
    "    ListNew r0 -> r0\n"
    "    Ret r0\n"
    "}\n"
    "function lists(s: list any[*], o: optional any[*]) -> (s: list any[*], o: any) exported {\n"
    "    AllocADT 0, r0, r1 -> r2\n"
    "    Ret r2\n"
    "}\n"
    "function texts(t: string[?] slot 0) -> (t: string[?] slot 0) exported {\n"
    "    Ret r0\n"
    "}\n"
    "function anything(a: any, b: any, c: float32[n]) -> (out: any) exported {\n"
    "    AllocADT 0, r0, r1 -> r2\n"
    "    Ret r2\n"
    "}\n"
    "function plain(a: float32[n]) exported {\n"
    "    Ret r0\n"
    "}\n";

typedef struct Machine {
    Device *device;
    Executable *executable;
    Residency *residency;
} Machine;

static int setup(void **state) {
    static Machine machine;
    assert_ok(assembly_parse(program, strlen(program), &machine.executable));
    assert_ok(device_open("cpu", &machine.device));
    assert_ok(residency_create(
        machine.executable, machine.device, machine.device, NULL, &machine.residency));
    *state = &machine;
    return 0;
}

static int teardown(void **state) {
    Machine *machine = *state;
    residency_release(machine->residency);
    executable_release(machine->executable);
    device_close(machine->device);
    return 0;
}

static void add(ArrayList *list, const char *name, DType dtype, uint32_t rank, int64_t count) {
    NamedArray array;
    Shape shape = shape_make(rank, &count);
    assert_ok(named_array_init(&array, name, dtype, &shape));
    for (uint64_t i = 0; i < array.size; i++) array.data[i] = (uint8_t)(i + 1);
    assert_ok(array_list_add(list, &array));
}

static const Function *function_named(const Machine *machine, const char *name, uint32_t *index) {
    assert_ok(executable_find_function(machine->executable, name, index));
    return &machine->executable->functions[*index];
}

static Error *keep(void *self, NamedArray *inout_array) {
    return array_list_add(self, inout_array);
}

/* Runs a function on the arrays and collects what it returns. */
static Error *run(Machine *machine, const char *name, ArrayList *inputs, ArrayList *out) {
    OWN(Execution, execution) = NULL;
    static const ExecutionOptions options = {0};
    uint32_t index;
    Value *values;
    RunResult result;
    const Function *function = function_named(machine, name, &index);
    TRY(array_values_bind(inputs, function, &values));
    Error *error = execution_create(
        machine->residency, &options, index, values, function->parameter_count, &execution);
    array_values_release(values, function->parameter_count);
    TRY(error);
    TRY(execution_run(execution, (Budget){0}, &result));
    assert_int_equal(result.kind, RUN_FINISHED);
    return array_values_export_result(execution, (ArraySink){.add = keep, .self = out});
}

static void test_array_values_go_through_a_function(void **state) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    ArrayList OWN_ARRAYS(outputs) = {0};
    add(&inputs, "b", DTYPE_INT64, 0, 0);
    add(&inputs, "a", DTYPE_FLOAT32, 1, 3);
    assert_ok(run(*state, "pair", &inputs, &outputs));
    assert_null(inputs.items[0].data); /* moved, not copied */
    assert_int_equal(outputs.count, 2);
    assert_string_equal(outputs.items[0].name, "x");
    assert_string_equal(outputs.items[1].name, "y");
    assert_int_equal(outputs.items[0].shape.dims[0], 3);
    assert_int_equal(outputs.items[0].data[11], 12);
    assert_int_equal(outputs.items[1].dtype, DTYPE_INT64);
    assert_int_equal(outputs.items[1].data[7], 8);
}

static Error *look(void *self, NamedArray *inout_array) {
    const Value *value = self;
    assert_string_equal(inout_array->name, "x");
    assert_ptr_equal(inout_array->data, tensor_data(value->tensor));
    assert_int_equal(inout_array->size, tensor_bytes(value->tensor));
    assert_int_equal(inout_array->shape.dims[0], 3);
    return NULL;
}

/* To a sink that only reads, nothing is copied, and the tensor keeps its memory. */
static void test_array_values_lend_what_is_only_read(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(inputs) = {0};
    Value value = value_nil();
    add(&inputs, "a", DTYPE_FLOAT32, 1, 3);
    assert_ok(array_values_from_array(&inputs.items[0], &value));
    assert_ok(array_values_export(
        &value, "x", (ArraySink){.add = look, .self = &value, .only_reads = true}));
    assert_int_equal(((const uint8_t *)tensor_data(value.tensor))[11], 12);
    value_release(&value);
    add(&inputs, "empty", DTYPE_FLOAT32, 1, 0);
    assert_ok(array_values_from_array(&inputs.items[1], &value));
    assert_ok(array_values_export(
        &value, "e", (ArraySink){.add = keep, .self = &inputs, .only_reads = true}));
    assert_null(inputs.items[2].data);
    value_release(&value);
}

/* Containers' parts are numbered, undeclared results are called output. */
static void test_array_values_name_what_is_nested(void **state) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    ArrayList OWN_ARRAYS(outputs) = {0};
    add(&inputs, "a", DTYPE_FLOAT32, 1, 2);
    assert_ok(run(*state, "nested", &inputs, &outputs));
    static const struct {
        const char *name;
        DType dtype;
    } expected[] = {{"out.0.0", DTYPE_FLOAT32}, {"out.0.1", DTYPE_INT64}, {"out.1", DTYPE_FLOAT32}};
    assert_int_equal(outputs.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < outputs.count; i++) {
        assert_string_equal(outputs.items[i].name, expected[i].name);
        assert_int_equal(outputs.items[i].dtype, expected[i].dtype);
    }
    ArrayList OWN_ARRAYS(again) = {0};
    ArrayList OWN_ARRAYS(plain) = {0};
    add(&again, "a", DTYPE_FLOAT32, 1, 2);
    assert_ok(run(*state, "plain", &again, &plain));
    assert_string_equal(plain.items[0].name, "output");
}

static void test_array_values_refuse_what_is_no_array(void **state) {
    ArrayList OWN_ARRAYS(none) = {0};
    ArrayList OWN_ARRAYS(outputs) = {0};
    assert_fails_saying(UNSUPPORTED, "output t is a string", run(*state, "words", &none, &outputs));
}

/* What lies in memory that nobody wrote is none of an output's business. */
static void test_array_values_refuse_what_was_never_written(void **state) {
    ArrayList OWN_ARRAYS(none) = {0};
    ArrayList OWN_ARRAYS(outputs) = {0};
    assert_fails_saying(INVALID, "output t.0 is a tensor that was never written",
        run(*state, "unwritten", &none, &outputs));
    assert_int_equal(outputs.count, 0);
}

static void add_count(ArrayList *list, const char *name, int64_t count) {
    NamedArray array;
    static const Shape scalar = {0};
    assert_ok(named_array_init(&array, name, DTYPE_INT64, &scalar));
    memcpy(array.data, &count, sizeof count);
    assert_ok(array_list_add(list, &array));
}

static void test_array_values_gather_lists_and_leave_out_optionals(void **state) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    ArrayList OWN_ARRAYS(outputs) = {0};
    add(&inputs, "s.1", DTYPE_FLOAT32, 1, 3);
    add(&inputs, "s.0", DTYPE_INT8, 1, 2);
    add_count(&inputs, "s.count", 2);
    assert_ok(run(*state, "lists", &inputs, &outputs));
    assert_int_equal(outputs.count, 2);
    assert_string_equal(outputs.items[0].name, "s.0");
    assert_int_equal(outputs.items[0].dtype, DTYPE_INT8);
    assert_string_equal(outputs.items[1].name, "s.1");
    ArrayList OWN_ARRAYS(empty) = {0};
    ArrayList OWN_ARRAYS(none) = {0};
    add_count(&empty, "s.count", 0);
    add(&empty, "o", DTYPE_INT8, 1, 2);
    assert_ok(run(*state, "lists", &empty, &none));
    assert_int_equal(none.count, 2);
    assert_string_equal(none.items[0].name, "s.count");
    assert_int_equal(none.items[0].data[0], 0);
    assert_string_equal(none.items[1].name, "o");
}

static void test_array_values_refuse_lists_with_holes(void **state) {
    static const struct {
        const char *names[2];
        int64_t count; /* -1: not given */
        const char *says;
    } cases[] = {
        {{"s.0", "s.2"}, -1, "input s has 2 items, but one is number 2"},
        {{"s.0", "s.0"}, -1, "input s.0 is given twice"},
        {{"s.0", "s.01"}, -1, "has no input s.01"},
        {{"s.0", "o.0"}, -1, "has no input o.0"},
        {{"s.0", "s"}, -1, "input s is given twice"},
        {{"s.0", NULL}, 2, "array s.count says 2, but 1 items are given"},
        {{"o", NULL}, -1, "input s of function lists is missing"},
        {{"s.count", NULL}, -1, "array s.count is not one int64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ArrayList OWN_ARRAYS(inputs) = {0};
        ArrayList OWN_ARRAYS(outputs) = {0};
        for (int j = 0; j < 2 && cases[i].names[j]; j++)
            add(&inputs, cases[i].names[j], DTYPE_INT8, 1, 2);
        if (cases[i].count >= 0) add_count(&inputs, "s.count", cases[i].count);
        assert_fails_saying(INVALID, cases[i].says, run(*state, "lists", &inputs, &outputs));
    }
}

static void test_array_values_are_strings_too(void **state) {
    static const char *const texts[] = {"one", "", "\xc3\xa4"};
    ArrayList OWN_ARRAYS(inputs) = {0};
    ArrayList OWN_ARRAYS(outputs) = {0};
    NamedArray array;
    const Shape shape = shape_make(1, (int64_t[]){3});
    assert_ok(named_array_init_texts(&array, "t", &shape, texts));
    assert_ok(array_list_add(&inputs, &array));
    assert_ok(run(*state, "texts", &inputs, &outputs));
    assert_int_equal(outputs.items[0].dtype, DTYPE_STRING);
    for (size_t i = 0; i < 3; i++) assert_string_equal(outputs.items[0].texts[i], texts[i]);
}

static void test_array_values_inputs_are_all_there_once(void **state) {
    static const struct {
        const char *first, *second, *says;
    } cases[] = {
        {"a", "c", "has no input c; it has a, b"},
        {"a", "a", "input a is given twice"},
        {"b", NULL, "input a of function pair is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ArrayList OWN_ARRAYS(inputs) = {0};
        ArrayList OWN_ARRAYS(outputs) = {0};
        add(&inputs, cases[i].first, DTYPE_FLOAT32, 1, 2);
        if (cases[i].second) add(&inputs, cases[i].second, DTYPE_FLOAT32, 1, 2);
        assert_fails_saying(INVALID, cases[i].says, run(*state, "pair", &inputs, &outputs));
    }
}

static void add_int64s(ArrayList *list, const char *name, uint32_t rank, int64_t count) {
    NamedArray array;
    const Shape shape = shape_make(rank, &count);
    assert_ok(named_array_init(&array, name, DTYPE_INT64, &shape));
    for (int64_t i = 0; i < count; i++) ((int64_t *)(void *)array.data)[i] = i - 2;
    assert_ok(array_list_add(list, &array));
}

/* Relax's functions take and give shapes of any numbers, and scalars. */
static void test_array_values_are_shapes_and_scalars(void **state) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    ArrayList OWN_ARRAYS(outputs) = {0};
    add_int64s(&inputs, "a.shape", 1, 9);
    add_int64s(&inputs, "b.scalar", 0, 1);
    add(&inputs, "c", DTYPE_FLOAT32, 1, 2);
    assert_ok(run(*state, "anything", &inputs, &outputs));
    assert_string_equal(outputs.items[0].name, "out.0");
    assert_int_equal(outputs.items[0].dtype, DTYPE_INT64);
    assert_int_equal(outputs.items[0].shape.rank, 1);
    assert_int_equal(outputs.items[0].shape.dims[0], 9);
    const int64_t *numbers = (const int64_t *)(const void *)outputs.items[0].data;
    for (int i = 0; i < 9; i++) assert_int_equal(numbers[i], i - 2);
    assert_int_equal(outputs.items[1].shape.rank, 0);
    assert_int_equal(*(const int64_t *)(const void *)outputs.items[1].data, -2);
}

static void test_array_values_refuse_what_is_no_shape_or_scalar(void **state) {
    static const struct {
        const char *name;
        uint32_t rank;
        int64_t count;
        const char *says;
    } cases[] = {
        {"a.shape", 0, 1, "array a.shape is no list of int64"},
        {"a.shape", 1, 256, "256 dimensions"},
        {"a.scalar", 1, 1, "array a.scalar is not one bool, int64 or float64"},
        {"c.shape", 1, 2, "has no input c.shape"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ArrayList OWN_ARRAYS(inputs) = {0};
        ArrayList OWN_ARRAYS(outputs) = {0};
        add_int64s(&inputs, cases[i].name, cases[i].rank, cases[i].count);
        assert_fails_saying(INVALID, cases[i].says, run(*state, "anything", &inputs, &outputs));
    }
}

int test_array_values(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_array_values_go_through_a_function),
        cmocka_unit_test(test_array_values_lend_what_is_only_read),
        cmocka_unit_test(test_array_values_name_what_is_nested),
        cmocka_unit_test(test_array_values_refuse_what_is_no_array),
        cmocka_unit_test(test_array_values_refuse_what_was_never_written),
        cmocka_unit_test(test_array_values_gather_lists_and_leave_out_optionals),
        cmocka_unit_test(test_array_values_refuse_lists_with_holes),
        cmocka_unit_test(test_array_values_are_strings_too),
        cmocka_unit_test(test_array_values_inputs_are_all_there_once),
        cmocka_unit_test(test_array_values_are_shapes_and_scalars),
        cmocka_unit_test(test_array_values_refuse_what_is_no_shape_or_scalar),
    };
    return cmocka_run_group_tests_name("array_values", tests, setup, teardown);
}
