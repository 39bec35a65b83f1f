#include "kernels/tensor/tensor.h"

#include "kernels/registry/device_registry.h"
#include "tests/support/test_support.h"

static Storage *storage_of(uint64_t size) {
    static uint64_t memory[64];
    Storage *storage = NULL;
    assert_ok(storage_create_foreign(
        device_host(), 0, (uint64_t)(uintptr_t)memory, size, NULL, NULL, &storage));
    return storage;
}

static void test_tensor_create_checks_the_extent(void **state) {
    (void)state;
    OWN(Storage, storage) = storage_of(64);
    Shape shape = {.rank = 2, .dims = {2, 4}}, large = {.rank = 1, .dims = {INT64_C(1) << 61}};
    Tensor *tensor = NULL;
    assert_ok(tensor_create(storage, 32, DTYPE_FLOAT32, &shape, &tensor));
    assert_int_equal(tensor_bytes(tensor), 32);
    assert_true(tensor_address(tensor) == storage->address + 32);
    tensor_release(tensor);
    assert_fails(INVALID, tensor_create(storage, 36, DTYPE_FLOAT32, &shape, &tensor));
    assert_fails(INVALID, tensor_create(storage, UINT64_MAX - 3, DTYPE_FLOAT32, &shape, &tensor));
    assert_fails(INVALID, tensor_create(storage, 0, DTYPE_FLOAT64, &large, &tensor));
    assert_fails_saying(INVALID, "not aligned to float32",
        tensor_create(storage, 2, DTYPE_FLOAT32, &shape, &tensor));
    assert_fails(INVALID, tensor_create(storage, 0, DTYPE_STRING, &shape, &tensor));
}

static void test_tensor_without_elements_has_no_address(void **state) {
    (void)state;
    OWN(Storage, storage) = storage_of(64);
    OWN(Tensor, tensor) = NULL;
    Shape shape = {.rank = 2, .dims = {0, 4}};
    assert_ok(tensor_create(storage, 64, DTYPE_FLOAT32, &shape, &tensor));
    assert_int_equal(tensor_address(tensor), 0);
    assert_null(tensor_data(tensor));
    assert_ok(tensor_copy_to_host(tensor, NULL));
}

/* What allows writing in place. */
static void test_tensor_is_sole_only_when_nobody_else_can_see_it(void **state) {
    (void)state;
    OWN(Tensor, tensor) = NULL;
    Shape shape = {.rank = 1, .dims = {4}};
    assert_ok(tensor_create_on_host(device_host(), DTYPE_INT64, &shape, &tensor));
    assert_true(tensor_is_sole(tensor));
    Tensor *view = NULL;
    assert_ok(tensor_reshape(tensor, &shape, &view));
    assert_false(tensor_is_sole(tensor));
    tensor_release(view);
    assert_true(tensor_is_sole(tensor));
    tensor_retain(tensor);
    assert_false(tensor_is_sole(tensor));
    tensor_release(tensor);
    tensor->storage->sealed = true;
    assert_false(tensor_is_sole(tensor));
    tensor->storage->sealed = false;
    tensor->storage->opaque = true;
    assert_false(tensor_is_sole(tensor));
}

static void test_tensor_reshape_keeps_bytes_and_written_bit(void **state) {
    (void)state;
    OWN(Tensor, tensor) = NULL;
    OWN(Tensor, view) = NULL;
    Tensor *other = NULL;
    Shape shape = {.rank = 1, .dims = {6}}, square = {.rank = 2, .dims = {2, 3}};
    Shape wrong = {.rank = 2, .dims = {2, 2}}, overflow = {.rank = 2, .dims = {1 << 30, -1}};
    assert_ok(tensor_create_on_host(device_host(), DTYPE_INT8, &shape, &tensor));
    tensor_set_unwritten(tensor);
    assert_ok(tensor_reshape(tensor, &square, &view));
    assert_ptr_equal(tensor_data(view), tensor_data(tensor));
    assert_false(view->written);
    assert_fails_saying(INVALID, "[6] as [2, 2]", tensor_reshape(tensor, &wrong, &other));
    assert_fails(INVALID, tensor_reshape(tensor, &overflow, &other));
}

static void test_tensor_view_reads_the_bytes_as_another_type(void **state) {
    (void)state;
    OWN(Tensor, tensor) = NULL;
    OWN(Tensor, view) = NULL;
    Shape shape = {.rank = 1, .dims = {2}}, square = {.rank = 2, .dims = {1, 2}};
    assert_ok(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &shape, &tensor));
    ((float *)tensor_data(tensor))[1] = 1;
    assert_ok(tensor_view(tensor, DTYPE_INT32, &square, &view));
    assert_int_equal(view->dtype, DTYPE_INT32);
    assert_int_equal(view->shape.rank, 2);
    assert_int_equal(((const int32_t *)tensor_data(view))[1], 0x3F800000);
    assert_ptr_equal(view->storage, tensor->storage);
}

static void test_tensor_copies_reach_device_memory(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(MemoryPool, pool) = NULL;
    OWN(Tensor, tensor) = NULL;
    MemoryAnswer answer;
    Shape shape = {.rank = 1, .dims = {3}};
    int32_t sent[] = {1, -2, 3}, received[3];
    assert_ok(device_open("sim:0", &device));
    assert_ok(memory_pool_create(device, 0, &pool));
    assert_ok(tensor_create_in_pool(pool, 1, DTYPE_INT32, &shape, &answer, &tensor));
    assert_ok(tensor_copy_from_host(tensor, sent));
    assert_ok(tensor_copy_to_host(tensor, received));
    assert_memory_equal(sent, received, sizeof sent);
    TensorSpec spec = tensor_spec(tensor);
    assert_true(spec.present && spec.layout == 0 && spec.dtype == DTYPE_INT32);
}

/* Large ones are mapped, small ones are not; both come zeroed. */
static void test_tensor_on_host_is_zeroed(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 1000, 3 << 20};
    for (int i = 0; i < 3; i++) {
        OWN(Tensor, tensor) = NULL;
        Shape shape = {.rank = 1, .dims = {sizes[i]}};
        assert_ok(tensor_create_on_host(device_host(), DTYPE_UINT8, &shape, &tensor));
        assert_int_equal(((uint8_t *)tensor_data(tensor))[sizes[i] - 1], 0);
        assert_false(tensor->storage->sealed);
    }
    Tensor *tensor = NULL;
    Shape huge = {.rank = 1, .dims = {INT64_C(1) << 60}};
    assert_fails(EXHAUSTED, tensor_create_on_host(device_host(), DTYPE_UINT8, &huge, &tensor));
}

/* Whoever reads strings reads them by their address. */
static void test_tensor_of_strings_is_in_host_memory(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(MemoryPool, pool) = NULL;
    OWN(Storage, storage) = NULL;
    OWN(Tensor, tensor) = NULL;
    MemoryAnswer answer;
    const Shape shape = {.rank = 1, .dims = {3}};
    assert_ok(device_open("sim:0", &device));
    assert_ok(memory_pool_create(device, 1 << 20, &pool));
    assert_ok(storage_create(pool, 1, 64, &answer, &storage));
    assert_fails_saying(UNSUPPORTED, "strings cannot be in the memory of sim:0",
        tensor_create(storage, 0, DTYPE_STRING, &shape, &tensor));
    assert_fails(UNSUPPORTED,
        tensor_create_bytes_in_pool(pool, 1, DTYPE_STRING, &shape, 64, &answer, &tensor));
    assert_int_equal(memory_pool_used_bytes(pool), 64);
}

int test_tensor(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensor_create_checks_the_extent),
        cmocka_unit_test(test_tensor_without_elements_has_no_address),
        cmocka_unit_test(test_tensor_is_sole_only_when_nobody_else_can_see_it),
        cmocka_unit_test(test_tensor_reshape_keeps_bytes_and_written_bit),
        cmocka_unit_test(test_tensor_view_reads_the_bytes_as_another_type),
        cmocka_unit_test(test_tensor_copies_reach_device_memory),
        cmocka_unit_test(test_tensor_on_host_is_zeroed),
        cmocka_unit_test(test_tensor_of_strings_is_in_host_memory),
    };
    return cmocka_run_group_tests_name("tensor", tests, NULL, NULL);
}
