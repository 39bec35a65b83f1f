#include "vm/native/native_functions.h"

#include "tests/kernels/native/native_fixture.h"
#include "tests/vm/vm_fixture.h"
#include "vm/objects/adt.h"
#include "vm/objects/list.h"

static const char program[] =
    "packed add(3)\npacked count(1)\npacked double_cells(1)\npacked write(1)\n"
    "packed shape_heap.new(1)\npacked shape_heap.store(3)\npacked shape_heap.get(2)\n"
    "function sum(1) exported {\n"
    " AllocStorage 64, 64, 0, float32 -> r1\n"
    " AllocTensor r1, 0, float32, 2 -> r2\n"
    " Call &add, r0, r0, r2\n"
    " Ret r2\n}\n"
    "function counted() exported {\n Call &count, 5 -> r0\n Ret r0\n}\n"
    "function heap() exported {\n"
    " Call &shape_heap.new, 2 -> r0\n"
    " Call &shape_heap.store, r0, 1, 21\n"
    " Call &double_cells, r0\n"
    " Call &shape_heap.get, r0, 1 -> r1\n"
    " Ret r1\n}\n"
    "packed turn(1)\nconstant @many = shape [-1, 2, 3, 4, 5, 6, 7, 8, 9, 4611686018427387904]\n"
    "constant @none = shape []\n"
    "function turned() exported {\n Call &turn, @many -> r0\n Call &turn, @none -> r1\n"
    " AllocADT 0, r0, r1 -> r0\n Ret r0\n}\n"
    "function too_many() exported {\n Call &turn, @many, 1 -> r0\n Ret r0\n}\n"
    "packed __vmtir__nest(2)\n"
    "function nest(2) exported {\n Call &__vmtir__nest, r0, r1 -> r2\n Ret r2\n}\n"
    "function change(1) exported {\n Call &write, r0\n Ret r0\n}\n";

typedef struct Bench {
    VmMachine machine;
    ExecutionOptions options;
} Bench;

/* The program with the sample library as its constant. */
static void init(Bench *bench) {
    TextBuilder OWN_TEXT(text) = {0};
    const NativeImage image = native_image("sample");
    char digits[3];
    text_appendf(
        &text, "constant @library slot 0 = uint8[%llu] x\"", (unsigned long long)image.size);
    for (uint64_t i = 0; i < image.size; i++) {
        text_hex((const uint8_t *)image.bytes + i, 1, digits);
        text_append(&text, digits);
    }
    text_append(&text, "\"\nlibrary @library\n");
    text_append(&text, program);
    assert_ok(text_builder_check(&text));
    *bench = (Bench){.machine = vm_machine(text_builder_get(&text), "cpu"),
        .options.native = {.allowed = true, .preload = image.preload}};
}

static void deinit(Bench *bench) { vm_machine_deinit(&bench->machine); }

static Value run(const Bench *bench, const char *function, const Value *arguments, uint32_t count) {
    OWN(Execution, execution) =
        vm_start(&bench->machine, function, arguments, count, &bench->options);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    return value_copy(*execution_get_result(execution));
}

/* As in TVM a shape that is a value has any numbers. */
static void test_native_functions_take_and_give_any_shape(void **state) {
    (void)state;
    Bench bench;
    init(&bench);
    Value result = run(&bench, "turned", NULL, 0);
    TextBuilder OWN_TEXT(text) = {0};
    value_print(&result, &text);
    assert_string_equal(text_builder_get(&text),
        "(shape [4611686018427387904, 9, 8, 7, 6, 5, 4, 3, 2, -1], shape [])");
    value_release(&result);
    RunResult stopped;
    OWN(Execution, execution) = vm_start(&bench.machine, "too_many", NULL, 0, &bench.options);
    assert_fails_saying(UNSUPPORTED, "turn: gave a shape of 260 numbers; 255 are the most",
        execution_run(execution, (Budget){0}, &stopped));
    execution_release(TAKE(execution));
    deinit(&bench);
}

static void test_bytecode_calls_native_functions(void **state) {
    (void)state;
    Bench bench;
    init(&bench);
    Value input = value_object(OBJECT_TENSOR, vm_floats(2, (float[]){1.5F, -2}));
    Value result = run(&bench, "sum", &input, 1);
    assert_true(value_is(&result, OBJECT_TENSOR) && result.tensor->written);
    const float *sums = tensor_data(result.tensor);
    assert_true(sums[0] == 3 && sums[1] == -4);
    value_release(&result);
    result = run(&bench, "counted", NULL, 0);
    assert_true(value_is(&result, OBJECT_TENSOR));
    assert_true(((const int32_t *)tensor_data(result.tensor))[2] == 7);
    value_release(&result);
    result = run(&bench, "heap", NULL, 0);
    assert_int_equal(result.integer, 42);
    value_release(&input);
    deinit(&bench);
}

static void test_tensors_of_others_are_not_written(void **state) {
    (void)state;
    Bench bench;
    init(&bench);
    Value input = value_object(OBJECT_TENSOR, vm_floats(1, (float[]){1}));
    Value result = run(&bench, "change", &input, 1);
    assert_true(*(const float *)tensor_data(result.tensor) == 1);
    value_release(&result);
    value_release(&input);
    deinit(&bench);
}

static void test_tuples_go_in_and_come_out(void **state) {
    (void)state;
    Bench bench;
    Adt *tuple;
    init(&bench);
    assert_ok(adt_create(NULL, 0, 2, &tuple));
    tuple->fields[0] = value_object(OBJECT_TENSOR, vm_floats(2, (float[]){3, 4}));
    tuple->fields[1] = value_bool(true);
    Value inputs[] = {
        value_object(OBJECT_ADT, tuple), value_object(OBJECT_TENSOR, vm_floats(1, (float[]){5}))};
    Value result = run(&bench, "nest", inputs, 2);
    assert_true(value_is(&result, OBJECT_ADT) && result.adt->count == 2);
    const Value *first = &result.adt->fields[0], *second = &result.adt->fields[1];
    assert_true(value_is(first, OBJECT_ADT) && first->adt->fields[1].boolean);
    assert_true(((const float *)tensor_data(first->adt->fields[0].tensor))[1] == 4);
    assert_true(((const float *)tensor_data(second->adt->fields[0].tensor))[0] == 5);
    assert_int_equal(second->adt->fields[1].integer, 7);
    value_release(&result);
    for (int i = 0; i < 2; i++) value_release(&inputs[i]);
    deinit(&bench);
}

static void test_native_functions_name_what_they_do_not_take(void **state) {
    (void)state;
    Bench bench;
    RunResult result;
    init(&bench);
    List *list;
    assert_ok(list_create(NULL, 0, &list));
    Value input = value_object(OBJECT_LIST, list);
    OWN(Execution, execution) = vm_start(&bench.machine, "sum", &input, 1, &bench.options);
    assert_fails_saying(UNSUPPORTED,
        "add: argument 0 is a list, which native functions do not take",
        execution_run(execution, (Budget){0}, &result));
    execution_release(TAKE(execution));
    value_release(&input);
    deinit(&bench);
}

static void test_native_code_runs_only_where_it_is_allowed(void **state) {
    (void)state;
    Bench bench;
    uint32_t function;
    Execution *execution;
    init(&bench);
    bench.options.native.allowed = false;
    assert_ok(executable_find_function(bench.machine.executable, "counted", &function));
    assert_fails_saying(REFUSED, "add is native code of the model's library",
        execution_create(bench.machine.residency, &bench.options, function, NULL, 0, &execution));
    deinit(&bench);
}

static void test_a_library_with_other_bytes_does_not_run(void **state) {
    (void)state;
    Bench bench;
    uint32_t function;
    Execution *execution;
    init(&bench);
    Executable *executable = bench.machine.executable;
    assert_ok(executable_get_native_digest(executable, &executable->native_digest));
    executable->native_digest.bytes[3] ^= 1;
    executable->native_digest_stored = true;
    assert_ok(executable_find_function(bench.machine.executable, "counted", &function));
    assert_fails_saying(CORRUPT, "not those that the executable was made with",
        execution_create(bench.machine.residency, &bench.options, function, NULL, 0, &execution));
    deinit(&bench);
}

int test_native_functions(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native_functions_take_and_give_any_shape),
        cmocka_unit_test(test_bytecode_calls_native_functions),
        cmocka_unit_test(test_tensors_of_others_are_not_written),
        cmocka_unit_test(test_tuples_go_in_and_come_out),
        cmocka_unit_test(test_native_functions_name_what_they_do_not_take),
        cmocka_unit_test(test_native_code_runs_only_where_it_is_allowed),
        cmocka_unit_test(test_a_library_with_other_bytes_does_not_run),
    };
    return cmocka_run_group_tests_name("native_functions", tests, NULL, NULL);
}
