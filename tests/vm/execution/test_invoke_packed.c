#include "tests/vm/vm_fixture.h"
#include "vm/execution/snapshot.h"

static void assert_floats(const Value *value, const float *expected, uint32_t count) {
    float got[16];
    assert_true(value_is(value, OBJECT_TENSOR));
    assert_int_equal(tensor_bytes(value->tensor), count * sizeof(float));
    assert_ok(tensor_copy_to_host(value->tensor, got));
    assert_memory_equal(got, expected, count * sizeof(float));
}

/* A last use of a sole tensor is written over: the same memory comes out. Held twice, it is not. */
static void test_invoke_packed_reuses_only_sole_last_uses(void **state) {
    (void)state;
    VmMachine machine = vm_machine("constant @x = float32[2] {1, -2}\nprimitive %neg = Neg\n"
                                   "function sole() exported last_uses {\n InvokePacked %neg @x -> "
                                   "r0\n Yield 0\n InvokePacked %neg r0 -> r1\n Ret r1\n}\n"
                                   "function held() exported last_uses {\n InvokePacked %neg @x -> "
                                   "r0\n Yield r0\n InvokePacked %neg r0 -> r1\n Ret r1\n}\n",
        "cpu");
    for (uint32_t held = 0; held < 2; held++) {
        Execution *execution = vm_start(&machine, held ? "held" : "sole", NULL, 0, NULL);
        assert_int_equal(vm_run(execution, 1), RUN_SUSPENDED);
        uint64_t before = memory_pool_used_bytes(execution_get_pool(execution, 1));
        assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
        uint64_t after = memory_pool_used_bytes(execution_get_pool(execution, 1));
        assert_true(held ? after > before : after == before);
        assert_floats(execution_get_result(execution), (float[]){1, -2}, 2);
        Value yielded;
        uint64_t sequence;
        assert_true(execution_take_yield(execution, &yielded, &sequence));
        if (held) assert_floats(&yielded, (float[]){-1, 2}, 2);
        value_release(&yielded);
        execution_release(execution);
    }
    vm_machine_deinit(&machine);
}

/* An annotation is what somebody knows of the old bytes: it goes when they do. */
static int released;
static void note_release(StorageAnnotation *annotation) {
    (void)annotation;
    released++;
}

static void test_invoke_packed_forgets_annotations_of_overwritten_storages(void **state) {
    (void)state;
    VmMachine machine =
        vm_machine("constant @x = float32[2] {1, -2}\nprimitive %neg = Neg\n"
                   "function f() exported last_uses {\n InvokePacked %neg @x -> r0\n Yield 1\n"
                   " InvokePacked %neg r0 -> r0\n Ret r0\n}\n",
            "cpu");
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    assert_int_equal(vm_run(execution, 2), RUN_SUSPENDED);
    Snapshot *snapshot;
    assert_ok(snapshot_take(execution, &snapshot));
    Storage *storage = snapshot->registers[0].value.tensor->storage;
    StorageAnnotation known = {note_release};
    assert_true(storage_annotate(storage, &known));
    snapshot_release(snapshot);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    assert_int_equal(released, 1);
    assert_ptr_equal(execution_get_result(execution)->tensor->storage, storage);
    assert_null(storage_get_annotation(storage));
    execution_release(execution);
    vm_machine_deinit(&machine);
}

static void test_invoke_packed_checks_for_finite_outputs_when_asked(void **state) {
    (void)state;
    VmMachine machine =
        vm_machine("constant @x = float32[3] {1, 0, 3}\nprimitive %log = Log\n"
                   "function f() exported {\n InvokePacked %log @x -> r0\n Ret 1\n}\n",
            "sim:0");
    ExecutionOptions options = {.check_finite = true};
    RunResult result;
    Execution *execution = vm_start(&machine, "f", NULL, 0, &options);
    assert_fails_saying(
        FAILED, "Log gave -inf at element 1", execution_run(execution, (Budget){0}, &result));
    execution_release(execution);
    execution = vm_start(&machine, "f", NULL, 0, NULL);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

/* Outputs and workspace at once, or nothing: the grant grows byte by byte of what is asked. */
static void test_invoke_packed_needs_memory_without_an_effect(void **state) {
    (void)state;
    VmMachine machine = vm_machine("primitive %split = Split {axis=0, num_outputs=2}\nprimitive %r "
                                   "= RandomNormal {shape=[4000]}\n"
                                   "function f() exported {\n InvokePacked %r -> r0\n InvokePacked "
                                   "%split r0 -> r1, r2\n AllocADT 0, r1, r2 -> r0\n Ret r0\n}\n",
        "sim:0");
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    MemoryPool *pool = execution_get_pool(execution, 1);
    RunResult result = {.kind = RUN_NEEDS_MEMORY};
    uint32_t asked = 0;
    for (uint64_t grant = 0; result.kind == RUN_NEEDS_MEMORY; grant += 1000) {
        memory_pool_set_grant(pool, grant);
        ExecutionCounters before = execution_get_counters(execution);
        uint64_t used = memory_pool_used_bytes(pool);
        assert_ok(execution_run(execution, (Budget){1}, &result));
        if (result.kind == RUN_SUSPENDED) {
            result.kind = RUN_NEEDS_MEMORY;
            continue;
        }
        if (result.kind != RUN_NEEDS_MEMORY) break;
        asked++;
        ExecutionCounters after = execution_get_counters(execution);
        assert_memory_equal(&before, &after, sizeof before);
        assert_int_equal(memory_pool_used_bytes(pool), used);
    }
    assert_int_equal(result.kind, RUN_FINISHED);
    assert_true(asked > 5);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

int test_invoke_packed(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invoke_packed_reuses_only_sole_last_uses),
        cmocka_unit_test(test_invoke_packed_forgets_annotations_of_overwritten_storages),
        cmocka_unit_test(test_invoke_packed_checks_for_finite_outputs_when_asked),
        cmocka_unit_test(test_invoke_packed_needs_memory_without_an_effect),
    };
    return cmocka_run_group_tests_name("invoke_packed", tests, NULL, NULL);
}
