#include "kernels/tensor/string_tensor.h"
#include "tests/vm/vm_fixture.h"
#include "vm/execution/execution.h"
#include "vm/objects/list.h"

static const char PORTS[] =
    "function f(x: float32[N, 2], y: float32[N] slot 0, z: any) -> (r: float32[N, 2]) exported {\n"
    " AllocADT 0, r0, r1, r2 -> r3\n Ret r3\n}\n"
    "function g(1) exported {\n Ret r0\n}\n";

static Tensor *matrix(uint32_t rows) {
    Shape shape = shape_make(2, (int64_t[]){rows, 2});
    Tensor *tensor;
    assert_ok(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &shape, &tensor));
    return tensor;
}

static Error *start(const VmMachine *machine, Value owned_x, Value owned_y, Value owned_z) {
    Value arguments[3] = {owned_x, owned_y, owned_z};
    Execution *execution = NULL;
    Error *error = execution_create(machine->residency, NULL, 0, arguments, 3, &execution);
    execution_release(execution);
    for (int i = 0; i < 3; i++) value_release(&arguments[i]);
    return error;
}

#define T(tensor) value_object(OBJECT_TENSOR, tensor)

static void test_arguments_must_fit_their_ports(void **state) {
    (void)state;
    VmMachine machine = vm_machine(PORTS, "sim:0");
    float data[3] = {1, 2, 3};
    int64_t integers[2] = {1, 2};
    assert_ok(start(&machine, T(matrix(2)), T(vm_floats(2, data)), value_int(4)));
    assert_fails_saying(INVALID, "input y: dimension 0 (N) is 3, but input x has 2 for it",
        start(&machine, T(matrix(2)), T(vm_floats(3, data)), value_nil()));
    assert_fails_saying(INVALID, "input y is int64, not float32",
        start(&machine, T(matrix(2)), T(vm_ints(2, integers)), value_nil()));
    assert_fails_saying(INVALID, "input x has shape [2], not [-1, 2]",
        start(&machine, T(vm_floats(2, data)), T(vm_floats(2, data)), value_nil()));
    assert_fails_saying(INVALID, "input x is a int, not a tensor",
        start(&machine, value_int(1), T(vm_floats(2, data)), value_nil()));
    Execution *execution;
    assert_fails_saying(INVALID, "function f takes 3 inputs, not 0",
        execution_create(machine.residency, NULL, 0, NULL, 0, &execution));
    assert_fails(INVALID, execution_create(machine.residency, NULL, 9, NULL, 0, &execution));
    vm_machine_deinit(&machine);
}

static const char FORMS[] =
    "function f(s: list float32[?] slot 1, o: optional int64[*] slot 0) exported {\n"
    " AllocADT 0, r0, r1 -> r2\n Ret r2\n}\n";

static Value pair(Value owned_first, Value owned_second) {
    List *list;
    assert_ok(list_create(NULL, 2, &list));
    assert_ok(list_append(list, owned_first));
    assert_ok(list_append(list, owned_second));
    return value_object(OBJECT_LIST, list);
}

static Error *start_forms(const VmMachine *machine, Value owned_s, Value owned_o) {
    Value arguments[2] = {owned_s, owned_o};
    Execution *execution = NULL;
    Error *error = execution_create(machine->residency, NULL, 0, arguments, 2, &execution);
    if (!error) {
        uint32_t count;
        assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
        const Value *fields = value_children(execution_get_result(execution), &count);
        for (uint32_t i = 0; i < fields[0].list->count; i++)
            assert_int_equal(fields[0].list->items[i].tensor->storage->slot, SLOT_DEVICE);
        assert_true(fields[1].tag == VALUE_NIL || value_is(&fields[1], OBJECT_TENSOR));
    }
    execution_release(execution);
    for (int i = 0; i < 2; i++) value_release(&arguments[i]);
    return error;
}

/* The tensors of a list go to where its port wants them, one by one. */
static void test_arguments_may_be_lists_and_optionals(void **state) {
    (void)state;
    VmMachine machine = vm_machine(FORMS, "sim:0");
    float data[3] = {1, 2, 3};
    int64_t integers[2] = {1, 2};
    Value two = pair(T(vm_floats(2, data)), T(vm_floats(3, data)));
    assert_ok(start_forms(&machine, value_copy(two), value_nil()));
    assert_ok(start_forms(&machine, value_copy(two), T(vm_ints(2, integers))));
    assert_fails_saying(
        INVALID, "input s is a nil, not a list", start_forms(&machine, value_nil(), value_nil()));
    assert_fails_saying(INVALID, "input s is a tensor, not a list",
        start_forms(&machine, T(vm_floats(2, data)), value_nil()));
    assert_fails_saying(INVALID, "input o is a list, not a tensor",
        start_forms(&machine, value_copy(two), value_copy(two)));
    assert_fails_saying(INVALID, "item 1: input s is int64, not float32",
        start_forms(&machine, pair(T(vm_floats(2, data)), T(vm_ints(2, integers))), value_nil()));
    assert_fails_saying(INVALID, "item 0 of input s is a int, not a tensor",
        start_forms(&machine, pair(value_int(1), value_int(2)), value_nil()));
    value_release(&two);
    vm_machine_deinit(&machine);
}

static void test_arguments_of_strings_are_checked(void **state) {
    (void)state;
    VmMachine machine =
        vm_machine("function f(t: string[?] slot 0) exported {\n Ret r0\n}\n", "sim:0");
    static const StringView texts[] = {{"a", 1}, {"bc", 2}};
    const Shape two = shape_make(1, (int64_t[]){2});
    Tensor *tensor;
    assert_ok(string_tensor_create(&two, texts, &tensor));
    Value argument = T(tensor);
    Execution *execution = vm_start(&machine, "f", &argument, 1, NULL);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    execution_release(execution);
    ((uint64_t *)tensor_data(tensor))[1] = 9;
    assert_fails_saying(INVALID, "input t: string 1 of 2 begins at byte 9 of 3",
        execution_create(machine.residency, NULL, 0, &argument, 1, &execution));
    value_release(&argument);
    vm_machine_deinit(&machine);
}

/* Without a device: the same words. */
static void test_arguments_are_checked_before_an_execution(void **state) {
    (void)state;
    OWN(Executable, executable) = vm_parse(PORTS);
    float data[3] = {1, 2, 3};
    Value arguments[3] = {T(matrix(2)), T(vm_floats(2, data)), value_nil()};
    assert_ok(execution_check_tensors(&executable->functions[0], arguments));
    assert_ok(execution_check_tensors(&executable->functions[1], arguments));
    value_release(&arguments[1]);
    arguments[1] = T(vm_floats(3, data));
    assert_fails_saying(INVALID, "input y: dimension 0 (N) is 3, but input x has 2 for it",
        execution_check_tensors(&executable->functions[0], arguments));
    value_release(&arguments[0]);
    arguments[0] = T(vm_floats(2, data));
    assert_fails_saying(INVALID, "input x has shape [2], not [-1, 2]",
        execution_check_tensors(&executable->functions[0], arguments));
    for (int i = 0; i < 2; i++) value_release(&arguments[i]);
}

static void test_arguments_come_into_their_slots_sealed(void **state) {
    (void)state;
    const char *const devices[] = {"cpu", "sim:0"};
    for (uint32_t i = 0; i < 2; i++) {
        VmMachine machine = vm_machine(PORTS, devices[i]);
        float data[2] = {1, 2}, back[2];
        Value arguments[3] = {T(matrix(2)), T(vm_floats(2, data)), T(vm_floats(2, data))};
        Execution *execution = vm_start(&machine, "f", arguments, 3, NULL);
        assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
        uint32_t count;
        const Value *fields = value_children(execution_get_result(execution), &count);
        assert_int_equal(fields[0].tensor->storage->slot, 1);
        assert_int_equal(fields[1].tensor->storage->slot, 0);
        assert_int_equal(fields[2].tensor->storage->slot, 1);
        for (uint32_t field = 0; field < 3; field++)
            assert_true(fields[field].tensor->storage->sealed);
        assert_ok(tensor_copy_to_host(fields[2].tensor, back));
        assert_memory_equal(back, data, sizeof back);
        execution_release(execution);
        for (int field = 0; field < 3; field++) value_release(&arguments[field]);
        vm_machine_deinit(&machine);
    }
}

static void test_arguments_that_are_unwritten_are_refused(void **state) {
    (void)state;
    VmMachine machine = vm_machine(PORTS, "cpu");
    Tensor *tensor = matrix(1);
    tensor_set_unwritten(tensor);
    Value value = T(tensor);
    Execution *execution;
    assert_fails_saying(INVALID, "is not written",
        execution_create(machine.residency, NULL, 1, &value, 1, &execution));
    value_release(&value);
    vm_machine_deinit(&machine);
}

static void test_arguments_beyond_the_memory_limit_are_exhausted(void **state) {
    (void)state;
    VmMachine machine = vm_machine(PORTS, "sim:0");
    ExecutionOptions options = {.memory_limit_bytes = {0, 1000}};
    Value arguments[3] = {T(matrix(1000)), T(vm_floats(0, NULL)), value_nil()};
    Execution *execution;
    assert_fails(
        EXHAUSTED, execution_create(machine.residency, &options, 0, arguments, 3, &execution));
    for (int i = 0; i < 3; i++) value_release(&arguments[i]);
    vm_machine_deinit(&machine);
}

int test_execution_arguments(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments_must_fit_their_ports),
        cmocka_unit_test(test_arguments_may_be_lists_and_optionals),
        cmocka_unit_test(test_arguments_of_strings_are_checked),
        cmocka_unit_test(test_arguments_are_checked_before_an_execution),
        cmocka_unit_test(test_arguments_come_into_their_slots_sealed),
        cmocka_unit_test(test_arguments_that_are_unwritten_are_refused),
        cmocka_unit_test(test_arguments_beyond_the_memory_limit_are_exhausted),
    };
    return cmocka_run_group_tests_name("execution_arguments", tests, NULL, NULL);
}
