#include "serialize/checkpoint/checkpoint_storage.h"

#include "kernels/registry/device_registry.h"
#include "serialize/chunk/storage_chunks.h"
#include "tests/serialize/checkpoint_fixtures.h"

static ChunkRef refs[2] = {{.raw_size = CHUNK_SIZE}, {.raw_size = 100}};

/* A value of one extent in two chunks, with 100 bytes in the last. */
static StoredStorage describe(StoredExtent *extent) {
    *extent =
        (StoredExtent){.size = CHUNK_SIZE + 100, .bulk = {CHUNK_SIZE + 100, CHUNK_SIZE, 2, refs}};
    return (StoredStorage){
        .slot = 1, .kind = CHECKPOINT_STORAGE_VALUE, .size = extent->size, .extents = {extent, 1}};
}

static void test_checkpoint_storage_is_named_by_what_it_holds(void **state) {
    (void)state;
    StoredExtent extent;
    Digest name, other;
    StoredStorage stored = describe(&extent);
    assert_ok(checkpoint_storage_name(&stored, &name));
    stored.sealed = true; /* no matter of its bytes */
    assert_ok(checkpoint_storage_name(&stored, &other));
    assert_true(digest_equal(&name, &other));
    for (int i = 0; i < 5; i++) {
        stored = describe(&extent);
        if (i == 0) stored.slot = 0;
        if (i == 1) stored.kind = CHECKPOINT_STORAGE_OPAQUE;
        if (i == 2) stored.size++;
        if (i == 3) extent.offset = 64;
        if (i == 4) refs[1].hash.bytes[9] = 1;
        assert_ok(checkpoint_storage_name(&stored, &other));
        assert_false(digest_equal(&name, &other));
        refs[1].hash.bytes[9] = 0;
    }
}

static void test_checkpoint_storage_is_made_with_its_chunks_known(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(MemoryPool, pool) = NULL;
    StoredExtent extent;
    MemoryAnswer answer;
    ChunkRef known[2];
    assert_ok(device_open("cpu", &device));
    assert_ok(memory_pool_create(device, 4 << 20, &pool));
    StoredStorage stored = describe(&extent);
    for (uint8_t kind = 0; kind <= CHECKPOINT_STORAGE_APPEND; kind++) {
        OWN(Storage, storage) = NULL;
        stored.kind = kind;
        assert_ok(checkpoint_storage_make(&stored, pool, &answer, &storage));
        assert_int_equal(storage->opaque, kind == CHECKPOINT_STORAGE_OPAQUE);
        assert_int_equal(storage->append, kind == CHECKPOINT_STORAGE_APPEND);
        assert_int_equal(storage_chunks_get(storage, 0, extent.size, CHUNK_SIZE, known),
            storage->opaque ? 0 : 2);
    }
    stored.size = 5 << 20;
    Storage *none = NULL;
    assert_fails(EXHAUSTED, checkpoint_storage_make(&stored, pool, &answer, &none));
    memory_pool_set_grant(pool, 0);
    stored.size = 1 << 20;
    assert_ok(checkpoint_storage_make(&stored, pool, &answer, &none));
    assert_int_equal(answer.kind, MEMORY_NEEDED);
    assert_null(none);
}

/* Small data stands beside the description, and only there. */
static void test_checkpoint_storage_reads_small_data_in_place(void **state) {
    (void)state;
    CheckpointExample example;
    ByteWriter OWN_BYTES(bytes) = {0};
    StoredStorage OWN_STORED_STORAGE(stored) = {0};
    checkpoint_example_init(&example, 3);
    byte_write_u8(&bytes, 1);
    byte_write_u8(&bytes, CHECKPOINT_STORAGE_VALUE);
    byte_write_u8(&bytes, 1);
    byte_write_u64(&bytes, 4);
    byte_write_u32(&bytes, 1);
    byte_write_u64(&bytes, 0);
    byte_write_u64(&bytes, 4);
    byte_write_bytes(&bytes, "abcd", 4);
    ByteReader reader = byte_reader(bytes.data, bytes.size);
    assert_ok(checkpoint_storage_read(&reader, example.container, &stored));
    assert_int_equal(byte_reader_left(&reader), 0);
    assert_true(stored.sealed && stored.extents.count == 1);
    assert_memory_equal(stored.extents.items[0].bytes, "abcd", 4);
    reader = byte_reader(bytes.data, bytes.size - 1);
    StoredStorage none = {0};
    assert_fails(CORRUPT, checkpoint_storage_read(&reader, example.container, &none));
    assert_null(none.extents.items);
    checkpoint_example_deinit(&example);
}

int test_checkpoint_storage(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoint_storage_is_named_by_what_it_holds),
        cmocka_unit_test(test_checkpoint_storage_is_made_with_its_chunks_known),
        cmocka_unit_test(test_checkpoint_storage_reads_small_data_in_place),
    };
    return cmocka_run_group_tests_name("checkpoint_storage", tests, NULL, NULL);
}
