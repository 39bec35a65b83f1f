#include "tests/vm/vm_fixture.h"
#include "vm/execution/value_freeze.h"
#include "vm/execution/execution_state.h"
#include "vm/objects/adt.h"
#include "vm/objects/list.h"

static Value freeze(Execution *execution, Value value) {
    OWN(ValueFreezer, freezer) = NULL;
    Value frozen;
    assert_ok(value_freezer_create(execution, FREEZE_YIELD, &freezer));
    assert_ok(value_freezer_add(freezer, &value, &frozen));
    return frozen;
}

static Execution *empty(VmMachine *machine) {
    Execution *execution;
    *machine = vm_machine("function f() {\n Ret 1\n}\n", "cpu");
    assert_ok(execution_create_empty(machine->residency, NULL, &execution));
    return execution;
}

static void test_freeze_refers_to_what_cannot_change(void **state) {
    (void)state;
    VmMachine machine;
    Execution *execution = empty(&machine);
    Adt *adt;
    assert_ok(adt_create(NULL, 0, 1, &adt));
    adt->fields[0] = value_object(OBJECT_TENSOR, vm_floats(1, (float[]){1}));
    Value frozen = freeze(execution, value_object(OBJECT_ADT, adt));
    assert_ptr_equal(frozen.adt, adt);
    value_release(&frozen);
    adt_release(adt);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

/* Two tensors in one mutable storage, reached three times: copied, and still in one storage. */
static void test_freeze_copies_mutable_storages_once(void **state) {
    (void)state;
    VmMachine machine;
    Execution *execution = empty(&machine);
    Storage *storage;
    MemoryAnswer answer;
    assert_ok(storage_create(execution->pools[1], 1, 64, &answer, &storage));
    storage->opaque = true;
    Shape shape = shape_make(1, (int64_t[]){2});
    Tensor *low, *high;
    assert_ok(tensor_create(storage, 0, DTYPE_FLOAT32, &shape, &low));
    assert_ok(tensor_create(storage, 32, DTYPE_FLOAT32, &shape, &high));
    assert_ok(tensor_copy_from_host(low, (float[]){1, 2}));
    tensor_set_unwritten(high);
    List *list;
    assert_ok(list_create(NULL, 0, &list));
    assert_ok(list_append(list, value_object(OBJECT_TENSOR, low)));
    assert_ok(list_append(list, value_object(OBJECT_TENSOR, high)));
    assert_ok(list_append(list, value_copy(value_object(OBJECT_TENSOR, low))));
    assert_ok(list_append(list, value_object(OBJECT_STORAGE, storage)));
    Value frozen = freeze(execution, value_object(OBJECT_LIST, list));
    const Value *items = frozen.list->items;
    assert_ptr_not_equal(frozen.list, list);
    assert_ptr_not_equal(items[0].tensor, low);
    assert_ptr_equal(items[0].tensor, items[2].tensor);
    assert_ptr_equal(items[0].tensor->storage, items[1].tensor->storage);
    assert_ptr_equal(items[3].storage, items[1].tensor->storage);
    assert_false(items[1].tensor->written);
    assert_ok(tensor_copy_from_host(low, (float[]){7, 8}));
    float data[2];
    assert_ok(tensor_copy_to_host(items[0].tensor, data));
    assert_true(data[0] == 1 && data[1] == 2);
    value_release(&frozen);
    list_release(list);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

static void test_freeze_goes_as_deep_as_values_nest(void **state) {
    (void)state;
    VmMachine machine;
    Execution *execution = empty(&machine);
    ShapeHeap *heap;
    Opaque *opaque;
    assert_ok(shape_heap_create(1, &heap));
    assert_ok(opaque_create(NULL, &opaque_shape_heap, heap, &opaque));
    Value inner = value_object(OBJECT_OPAQUE, opaque);
    for (int i = 0; i < 300000; i++) {
        Adt *adt;
        assert_ok(adt_create(NULL, 0, 2, &adt));
        adt->fields[0] = value_copy(inner);
        adt->fields[1] = inner;
        inner = value_object(OBJECT_ADT, adt);
    }
    Value frozen = freeze(execution, inner); /* 2^300000 ways down, each container once */
    assert_ptr_not_equal(frozen.adt, inner.adt);
    assert_ptr_equal(frozen.adt->fields[0].adt, frozen.adt->fields[1].adt);
    value_release(&frozen);
    value_release(&inner);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

int test_value_freeze(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_freeze_refers_to_what_cannot_change),
        cmocka_unit_test(test_freeze_copies_mutable_storages_once),
        cmocka_unit_test(test_freeze_goes_as_deep_as_values_nest),
    };
    return cmocka_run_group_tests_name("value_freeze", tests, NULL, NULL);
}
