#include <string.h>

#include "kernels/tensor/storage.h"

#include "kernels/registry/device_registry.h"
#include "tests/support/test_support.h"

static uint32_t released;
static void count_release(void *owner) { *(uint32_t *)owner += 1; }
static void count_annotation(StorageAnnotation *annotation) {
    (void)annotation;
    released += 10;
}

static void test_storage_of_a_pool_gives_its_memory_back(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(MemoryPool, pool) = NULL;
    Storage *storage = NULL;
    MemoryAnswer answer;
    assert_ok(device_open("sim:0,memory=64KiB", &device));
    assert_ok(memory_pool_create(device, 0, &pool));
    assert_ok(storage_create(pool, 1, 1000, &answer, &storage));
    assert_int_equal(answer.kind, MEMORY_GRANTED);
    assert_int_equal(storage->slot, 1);
    assert_int_equal(storage->size, 1000);
    assert_true(storage->constant_index == STORAGE_NOT_CONSTANT);
    assert_false(storage->sealed || storage->opaque);
    storage_release(storage_retain(storage));
    assert_true(memory_pool_used_bytes(pool) >= 1000);
    storage_release(storage);
    assert_int_equal(memory_pool_used_bytes(pool), 0);
}

static void test_storage_without_bytes_needs_no_memory(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(MemoryPool, pool) = NULL;
    OWN(Storage, storage) = NULL;
    MemoryAnswer answer;
    assert_ok(device_open("sim:0,memory=64KiB", &device));
    assert_ok(memory_pool_create(device, 0, &pool));
    memory_pool_set_grant(pool, 0);
    assert_ok(storage_create(pool, 1, 0, &answer, &storage));
    assert_int_equal(answer.kind, MEMORY_GRANTED);
    assert_true(storage->address == 0);
}

static void test_storage_is_not_made_when_memory_is_needed(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(MemoryPool, pool) = NULL;
    Storage *storage = NULL;
    MemoryAnswer answer;
    assert_ok(device_open("sim:0,memory=64KiB", &device));
    assert_ok(memory_pool_create(device, 0, &pool));
    memory_pool_set_grant(pool, 100);
    assert_ok(storage_create(pool, 1, 1000, &answer, &storage));
    assert_int_equal(answer.kind, MEMORY_NEEDED);
    assert_int_equal(answer.bytes, 1000);
    assert_null(storage);
}

static void test_storage_within_another_keeps_it(void **state) {
    (void)state;
    OWN(Storage, part) = NULL;
    Storage *whole = NULL, *none = NULL;
    assert_ok(storage_create_on_host(device_host(), 256, &whole));
    assert_fails(INVALID, storage_create_within(whole, 192, 65, &none));
    assert_fails(INVALID, storage_create_within(whole, 257, 0, &none));
    assert_null(none);
    assert_ok(storage_create_within(whole, 192, 64, &part));
    assert_true(part->sealed);
    assert_int_equal(part->address, whole->address + 192);
    assert_false(refcount_is_sole(&whole->refcount));
    storage_release(whole);
    memset((void *)(uintptr_t)part->address, 7, 64); /* still there */
}

static void test_storage_tells_foreign_owners_when_it_goes(void **state) {
    (void)state;
    Storage *storage = NULL;
    uint64_t memory[4] = {0};
    released = 0;
    assert_ok(storage_create_foreign(device_host(), 0, (uint64_t)(uintptr_t)memory, sizeof memory,
        &released, count_release, &storage));
    StorageAnnotation first = {count_annotation}, second = first;
    assert_true(storage_annotate(storage, &first));
    assert_false(storage_annotate(storage, &second)); /* it has one */
    assert_ptr_equal(storage_get_annotation(storage), &first);
    storage_release(storage);
    assert_int_equal(released, 11);
}

static void test_storage_moves_into_another_pool(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(Device, strange) = NULL;
    OWN(MemoryPool, from) = NULL;
    OWN(MemoryPool, to) = NULL;
    OWN(MemoryPool, elsewhere) = NULL;
    Storage *storage = NULL;
    MemoryAnswer answer;
    assert_ok(device_open("cpu", &device));
    assert_ok(device_open("sim:0,memory=64KiB", &strange));
    assert_ok(memory_pool_create(device, 0, &from));
    assert_ok(memory_pool_create(device, 0, &to));
    assert_ok(memory_pool_create(strange, 0, &elsewhere));
    assert_ok(storage_create(from, 1, 1000, &answer, &storage));
    uint8_t *bytes = (uint8_t *)(uintptr_t)storage->address;
    memset(bytes, 7, 1000);
    assert_false(storage_move(storage, elsewhere));
    assert_true(storage_move(storage, from)); /* where it is */
    assert_true(memory_pool_used_bytes(from) >= 1000);
    assert_true(storage_move(storage, to));
    assert_ptr_equal(storage->pool, to);
    assert_ptr_equal((uint8_t *)(uintptr_t)storage->address, bytes);
    assert_int_equal(bytes[999], 7);
    assert_int_equal(memory_pool_used_bytes(from), 0);
    memory_pool_release(TAKE(from)); /* it has nothing to do with it any more */
    storage_release(storage);
    assert_int_equal(memory_pool_used_bytes(to), 0);
}

int test_storage(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_storage_of_a_pool_gives_its_memory_back),
        cmocka_unit_test(test_storage_without_bytes_needs_no_memory),
        cmocka_unit_test(test_storage_is_not_made_when_memory_is_needed),
        cmocka_unit_test(test_storage_within_another_keeps_it),
        cmocka_unit_test(test_storage_moves_into_another_pool),
        cmocka_unit_test(test_storage_tells_foreign_owners_when_it_goes),
    };
    return cmocka_run_group_tests_name("storage", tests, NULL, NULL);
}
