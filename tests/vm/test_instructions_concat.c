#include "tests/vm/vm_fixture.h"
#include "vm/execution.h"
#include "vm/list.h"

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

int test_instructions_concat(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_concat_along_a_middle_axis),
    };
    return cmocka_run_group_tests_name("instructions_concat", tests, NULL, NULL);
}
