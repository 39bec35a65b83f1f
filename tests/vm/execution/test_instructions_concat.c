#include "kernels/tensor/string_tensor.h"
#include "tests/vm/vm_fixture.h"
#include "vm/execution/execution.h"
#include "vm/objects/list.h"

/* Rows of 3 along the middle axis, in pieces of different length, by hand. */
static void test_concat_along_a_middle_axis(void **state) {
    (void)state;
    VmMachine machine =
        vm_machine("function f(1) exported {\n ListConcat r0, 1, 0 -> r1\n Ret r1\n}\n", "sim:0");
    List *list;
    assert_ok(list_create(NULL, 0, &list));
    float expected[2 * 6 * 3];
    MemoryPool *pool = machine.residency->pools[1];
    uint32_t start = 0;
    for (uint32_t piece = 1; piece <= 3; piece++) {
        float data[2 * 3 * 3];
        for (uint32_t i = 0; i < 2 * piece * 3; i++) data[i] = (float)(piece * 100 + i);
        for (uint32_t row = 0; row < 2; row++)
            memcpy(expected + (row * 6 + start) * 3, data + row * piece * 3,
                piece * 3 * sizeof(float));
        start += piece;
        Shape shape = shape_make(3, (int64_t[]){2, piece, 3});
        MemoryAnswer answer;
        Tensor *tensor;
        assert_ok(tensor_create_in_pool(pool, 1, DTYPE_FLOAT32, &shape, &answer, &tensor));
        assert_ok(tensor_copy_from_host(tensor, data));
        assert_ok(list_append(list, value_object(OBJECT_TENSOR, tensor)));
    }
    /* what a residency's pool holds is there before any execution begins */
    assert_ok(device_stream_synchronize(machine.device, memory_pool_get_stream(pool)));
    Value argument = value_object(OBJECT_LIST, list);
    Execution *execution = vm_start(&machine, "f", &argument, 1, NULL);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    float got[2 * 6 * 3];
    const Value *result = execution_get_result(execution);
    assert_true(value_is(result, OBJECT_TENSOR) && tensor_bytes(result->tensor) == sizeof got);
    assert_ok(tensor_copy_to_host(result->tensor, got));
    assert_memory_equal(got, expected, sizeof got);
    execution_release(execution);
    value_release(&argument);
    vm_machine_deinit(&machine);
}

/* Texts follow their elements, row by row. */
static void test_concat_of_strings(void **state) {
    (void)state;
    VmMachine machine = vm_machine(
        "function f(1) exported {\n ListConcat.host r0, 1, 0 -> r1\n Ret r1\n}\n", "cpu");
    static const StringView texts[2][4] = {
        {{"a", 1}, {"", 0}, {"ccc", 3}, {"d", 1}}, {{"x", 1}, {"yy", 2}}};
    static const char *const wanted[] = {"a", "", "x", "ccc", "d", "yy"};
    List *list;
    assert_ok(list_create(NULL, 0, &list));
    for (int64_t i = 0; i < 2; i++) {
        const Shape shape = shape_make(2, (int64_t[]){2, 2 - i});
        Tensor *tensor;
        assert_ok(string_tensor_create(&shape, texts[i], &tensor));
        assert_ok(list_append(list, value_object(OBJECT_TENSOR, tensor)));
    }
    Value argument = value_object(OBJECT_LIST, list);
    Execution *execution = vm_start(&machine, "f", &argument, 1, NULL);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    const Value *result = execution_get_result(execution);
    assert_true(value_is(result, OBJECT_TENSOR) && result->tensor->dtype == DTYPE_STRING);
    for (int64_t i = 0; i < 6; i++) {
        const StringView text = string_tensor_at(tensor_data(result->tensor), 6, i);
        assert_int_equal(text.size, strlen(wanted[i]));
        assert_memory_equal(text.text, wanted[i], text.size);
    }
    execution_release(execution);
    value_release(&argument);
    vm_machine_deinit(&machine);
}

int test_instructions_concat(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_concat_along_a_middle_axis),
        cmocka_unit_test(test_concat_of_strings),
    };
    return cmocka_run_group_tests_name("instructions_concat", tests, NULL, NULL);
}
