#include "tests/vm/relax/relax_case_runner.h"
#include "kernels/tensor/storage.h"
#include "tests/vm/vm_fixture.h"

static void test_relax_storage_answers_as_tvm(void **state) {
    (void)state;
    relax_cases_run("storage");
}

static Value storage_of(int64_t bytes, int64_t device) {
    return relax_call("vm.builtin.alloc_storage",
        RELAX_ARGUMENTS(value_nil(), relax_shape(1, &bytes), value_int(device),
            value_dtype(DTYPE_UINT8), relax_string("global")));
}

static void test_relax_storage_knows_the_devices(void **state) {
    (void)state;
    static const int64_t devices[] = {0, 1, -1};
    for (uint32_t i = 0; i < 3; i++) {
        Value storage = storage_of(64, devices[i]);
        assert_int_equal(storage.storage->slot, i == 0);
        assert_int_equal(storage.storage->size, 64);
        value_release(&storage);
    }
    const int64_t bytes = 64;
    relax_refuses("device 2; the devices are 0, 1 and -1", "vm.builtin.alloc_storage",
        RELAX_ARGUMENTS(value_nil(), relax_shape(1, &bytes), value_int(2), value_dtype(DTYPE_UINT8),
            value_nil()));
    relax_refuses("memory scope texture; the only one is global", "vm.builtin.alloc_storage",
        RELAX_ARGUMENTS(value_nil(), relax_shape(1, &bytes), value_int(0), value_dtype(DTYPE_UINT8),
            relax_string("texture")));
}

static void test_relax_storage_refuses_sizes_that_do_not_fit(void **state) {
    (void)state;
    const int64_t one = 1, many[] = {INT64_C(1) << 40, INT64_C(1) << 21};
    static const int64_t offsets[] = {61, 64, -4, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++)
        relax_refuses("", "vm.builtin.alloc_tensor",
            RELAX_ARGUMENTS(storage_of(64, 0), value_int(offsets[i]), relax_shape(1, &one),
                value_dtype(DTYPE_FLOAT32)));
    relax_refuses("the offset is -4", "vm.builtin.alloc_tensor",
        RELAX_ARGUMENTS(
            storage_of(64, 0), value_int(-4), relax_shape(1, &one), value_dtype(DTYPE_FLOAT32)));
    relax_refuses("", "vm.builtin.alloc_storage",
        RELAX_ARGUMENTS(value_nil(), relax_shape(2, many), value_int(0), value_dtype(DTYPE_FLOAT64),
            value_nil()));
    relax_refuses("", "vm.builtin.alloc_storage",
        RELAX_ARGUMENTS(value_nil(), relax_shape(1, &one), value_int(0), value_dtype(DTYPE_STRING),
            value_nil()));
}

static const char LOOP[] =
    "packed vm.builtin.alloc_storage(0)\npacked vm.builtin.alloc_tensor(0)\n"
    "primitive %add = Add\n"
    "constant @x = float32[2] {1, 2}\nconstant @two = shape [2]\n"
    "constant @type = dtype float32\nconstant @scope = string \"global\"\n"
    "function f() exported last_uses {\n LoadConst @x -> r0\n LoadConsti 0 -> r1\nhead:\n"
    " If r1, 10, done, body\nbody:\n"
    " Call &vm.builtin.alloc_storage, @scope, @two, 0, @type, @scope -> r2\n"
    " Call &vm.builtin.alloc_tensor, r2, 0, @two, @type -> r3\n"
    " InvokePacked %add r0, r0 => r3\n Move r3 -> r0\n IntOp add, r1, 1 -> r1\n Goto head\n"
    "done:\n Ret r0\n}\n";

/* Memory is counted for each execution, and used again unless its allocator is naive. */
static void test_relax_storage_has_two_allocators(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "sim:0"};
    for (uint32_t i = 0; i < 4; i++) {
        const bool naive = i / 2;
        float result[2];
        VmMachine machine = vm_machine(LOOP, devices[i % 2]);
        const ExecutionOptions options = {.naive_memory = {naive, naive}};
        Execution *execution = vm_start(&machine, "f", NULL, 0, &options);
        const MemoryPool *pool = execution_get_pool(execution, SLOT_DEVICE);
        assert_int_equal(vm_run(execution, 28), RUN_SUSPENDED); /* behind a Move: one is idle */
        assert_int_equal(memory_pool_idle_bytes(pool) > 0, !naive);
        execution_request_suspend(execution);
        assert_int_equal(vm_run(execution, 0), RUN_SUSPENDED);
        assert_int_equal(memory_pool_idle_bytes(pool), 0);
        assert_true(memory_pool_used_bytes(pool) > 0);
        assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
        assert_ok(tensor_copy_to_host(execution_get_result(execution)->tensor, result));
        assert_true(result[0] == 1024 && result[1] == 2048);
        assert_in_range(memory_pool_device_blocks(pool), naive ? 10 : 1, naive ? 10 : 4);
        assert_in_range(memory_pool_peak_bytes(pool), 64, 3 * 64);
        execution_release(execution);
        vm_machine_deinit(&machine);
    }
}

int test_relax_storage(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_storage_answers_as_tvm),
        cmocka_unit_test(test_relax_storage_knows_the_devices),
        cmocka_unit_test(test_relax_storage_has_two_allocators),
        cmocka_unit_test(test_relax_storage_refuses_sizes_that_do_not_fit),
    };
    return cmocka_run_group_tests_name("relax_storage", tests, NULL, NULL);
}
