#include "tests/vm/vm_fixture.h"
#include "vm/execution/snapshot.h"

static const char program[] = "constant @a = float32[2] {1, 2}\nconstant @b = float32[1] {3}\n"
                              "primitive %append = Append {axis=0}\n"
                              "function f() exported last_uses {\n"
                              " InvokePacked %append @a, @b -> r0\n Yield 0\n"
                              " InvokePacked %append r0, @b -> r0\n Ret r0\n}\n";

static Storage *held_storage(const Snapshot *snapshot) {
    return snapshot->registers[0].value.tensor->storage;
}

/* A snapshot holds the value, and the storage grows all the same: what the snapshot sees, and what
 * is known of it, stays. */
static void check_grows_beside_a_snapshot(const char *device) {
    static StorageAnnotation known;
    VmMachine machine = vm_machine(program, device);
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    assert_int_equal(vm_run(execution, 2), RUN_SUSPENDED);
    Snapshot *snapshot;
    assert_ok(snapshot_take(execution, &snapshot));
    Storage *storage = held_storage(snapshot);
    assert_true(storage->append);
    assert_int_equal(storage->filled, 3 * sizeof(float));
    assert_true(storage_annotate(storage, &known));
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    const Tensor *result = execution_get_result(execution)->tensor;
    float got[4];
    assert_ptr_equal(result->storage, storage);
    assert_int_equal(storage->filled, 4 * sizeof(float));
    assert_ptr_equal(storage_get_annotation(storage), &known);
    assert_ok(tensor_copy_to_host(result, got));
    assert_memory_equal(got, ((float[]){1, 2, 3, 3}), sizeof got);
    const Tensor *seen = snapshot->registers[0].value.tensor;
    assert_int_equal(tensor_bytes(seen), 3 * sizeof(float));
    assert_ok(tensor_copy_to_host(seen, got));
    assert_memory_equal(got, ((float[]){1, 2, 3}), 3 * sizeof(float));
    atomic_store(&storage->annotation, NULL);
    snapshot_release(snapshot);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

static void test_invoke_append_grows_beside_a_snapshot(void **state) {
    (void)state;
    check_grows_beside_a_snapshot("cpu");
    check_grows_beside_a_snapshot("sim:0");
}

static void test_invoke_append_leaves_a_sealed_storage(void **state) {
    (void)state;
    VmMachine machine = vm_machine(program, "cpu");
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    assert_int_equal(vm_run(execution, 2), RUN_SUSPENDED);
    Snapshot *snapshot;
    assert_ok(snapshot_take(execution, &snapshot));
    Storage *storage = held_storage(snapshot);
    storage->sealed = true;
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    assert_ptr_not_equal(execution_get_result(execution)->tensor->storage, storage);
    assert_int_equal(storage->filled, 3 * sizeof(float));
    snapshot_release(snapshot);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

/* Room is asked for, but not needed: with a grant for the bytes alone it runs, below that it waits
 * and nothing has happened. */
static void test_invoke_append_needs_memory_for_its_bytes_alone(void **state) {
    (void)state;
    VmMachine machine =
        vm_machine("constant @n slot 0 = int64[1] {1100}\nprimitive %fill = ConstantOfShape\n"
                   "primitive %append = Append {axis=0}\n"
                   "function f() exported {\n InvokePacked %fill @n -> r0\n"
                   " InvokePacked %append r0, r0 -> r1\n Ret r1\n}\n",
            "cpu");
    uint64_t least = 0;
    for (uint64_t spare = 0; spare <= 1 << 15; spare += 256) {
        Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
        assert_int_equal(vm_run(execution, 1), RUN_SUSPENDED);
        MemoryPool *pool = execution_get_pool(execution, 1);
        const uint64_t used = memory_pool_used_bytes(pool);
        memory_pool_set_grant(pool, used + spare);
        const RunKind kind = vm_run(execution, 0);
        if (kind == RUN_NEEDS_MEMORY) {
            assert_int_equal(memory_pool_used_bytes(pool), used);
            memory_pool_set_grant(pool, UINT64_MAX);
            assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
        } else {
            assert_int_equal(kind, RUN_FINISHED);
            const Storage *storage = execution_get_result(execution)->tensor->storage;
            if (least == 0) {
                least = spare;
                assert_int_equal(storage->size, 8800);
            }
            assert_int_equal(storage->filled, 8800);
            if (spare == 1 << 15) assert_int_equal(storage->size, 16384);
        }
        execution_release(execution);
    }
    assert_in_range(least, 8800, 8800 + 8800 / 4);
    vm_machine_deinit(&machine);
}

int test_invoke_append(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invoke_append_grows_beside_a_snapshot),
        cmocka_unit_test(test_invoke_append_leaves_a_sealed_storage),
        cmocka_unit_test(test_invoke_append_needs_memory_for_its_bytes_alone),
    };
    return cmocka_run_group_tests_name("invoke_append", tests, NULL, NULL);
}
