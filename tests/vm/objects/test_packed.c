#include "tests/vm/vm_fixture.h"
#include "vm/objects/packed.h"
#include "vm/objects/list.h"

static Error *count_calls(
    PackedCall *call, const Value *arguments, uint32_t count, void *context, Value *out_result) {
    (void)call;
    (void)arguments;
    ++*(int *)context;
    *out_result = value_int(count);
    return NULL;
}
static void note_release(void *context) { *(int *)context = -1; }

static void test_packed_registry_finds_what_was_added(void **state) {
    (void)state;
    PackedRegistry *registry;
    int calls = 0;
    assert_ok(packed_registry_create(&registry));
    assert_ok(packed_registry_add(registry, "test.count", -1, count_calls, &calls, note_release));
    assert_fails(
        CONFLICT, packed_registry_add(registry, "test.count", 1, count_calls, &calls, NULL));
    assert_int_equal(packed_registry_find(registry, "test.count")->arity, -1);
    assert_int_equal(packed_registry_find(registry, "list.size")->arity, 1);
    assert_null(packed_registry_find(registry, "list"));
    assert_string_equal(packed_registry_find(registry, "vm.builtin.copy")->signature, "a");
    assert_null(packed_registry_find(registry, "vm.builtin.cop"));
    assert_fails(
        CONFLICT, packed_registry_add(registry, "list.size", 1, count_calls, &calls, NULL));
    assert_fails(
        CONFLICT, packed_registry_add(registry, "vm.builtin.copy", 1, count_calls, &calls, NULL));
    packed_registry_release(registry);
    assert_int_equal(calls, -1);
}

static void test_packed_object_keeps_its_registry(void **state) {
    (void)state;
    PackedRegistry *registry;
    PackedObject *packed;
    int calls = 0;
    assert_ok(packed_registry_create(&registry));
    assert_ok(packed_registry_add(registry, "test.count", -1, count_calls, &calls, note_release));
    assert_fails(NOT_FOUND, packed_object_create(registry, "no", &packed));
    assert_ok(packed_object_create(registry, "test.count", &packed));
    packed_registry_release(registry);
    Value result;
    assert_ok(packed->target.function(NULL, NULL, 0, packed->target.context, &result));
    assert_int_equal(calls, 1);
    packed_object_release(packed);
    assert_int_equal(calls, -1);
}

static void test_packed_registry_knows_kinds_of_opaque_objects(void **state) {
    (void)state;
    PackedRegistry *registry;
    static const OpaqueKind kind = {.name = "test.kind"};
    assert_ok(packed_registry_create(&registry));
    assert_ptr_equal(packed_registry_find_opaque_kind(registry, "shape_heap"), &opaque_shape_heap);
    assert_null(packed_registry_find_opaque_kind(registry, "test.kind"));
    assert_ok(packed_registry_add_opaque_kind(registry, &kind));
    assert_fails(CONFLICT, packed_registry_add_opaque_kind(registry, &kind));
    packed_registry_release(registry);
}

static void count_shared(struct Execution *execution, const Tensor *written) {
    (void)written;
    ++*(int *)(void *)execution;
}

/* Looking for tensors that share bytes costs time, so only a storage with unwritten ones asks for
 * it. */
static void test_packed_mark_written_shares_only_with_unwritten_tensors(void **state) {
    (void)state;
    OWN(Storage, storage) = NULL;
    Tensor *tensors[3];
    int looks = 0;
    const Shape shape = shape_make(1, (int64_t[]){2});
    const PackedCall call = {.execution = (void *)&looks, .share_written = count_shared};
    assert_ok(storage_create_on_host(device_host(), 64, &storage));
    storage->opaque = true;
    for (int i = 0; i < 2; i++) {
        assert_ok(tensor_create(storage, 0, DTYPE_FLOAT32, &shape, &tensors[i]));
        tensor_set_unwritten(tensors[i]);
    }
    assert_ok(tensor_reshape(tensors[0], &shape, &tensors[2]));
    assert_int_equal(storage->unwritten, 3);
    packed_mark_written(&call, tensors[1]);
    packed_mark_written(&call, tensors[1]);
    assert_int_equal(looks, 2);
    packed_mark_written(&call, tensors[2]);
    assert_int_equal(looks, 3);
    tensor_release(tensors[0]);
    assert_int_equal(storage->unwritten, 0);
    packed_mark_written(&call, tensors[1]);
    assert_int_equal(looks, 3);
    tensor_release(tensors[1]);
    tensor_release(tensors[2]);
}

int test_packed(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packed_registry_finds_what_was_added),
        cmocka_unit_test(test_packed_object_keeps_its_registry),
        cmocka_unit_test(test_packed_registry_knows_kinds_of_opaque_objects),
        cmocka_unit_test(test_packed_mark_written_shares_only_with_unwritten_tensors),
    };
    return cmocka_run_group_tests_name("packed", tests, NULL, NULL);
}
