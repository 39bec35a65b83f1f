#include "serialize/checkpoint/checkpoint_internal.h"

#include "tests/serialize/checkpoint_fixtures.h"
#include "tests/serialize/section_mutation.h"

/* Writes the objects section: one storage of 8 bytes and one tensor in it, as the arguments say. */
typedef struct Forgery {
    uint8_t slot, opaque, sealed;
    uint64_t size;
    uint64_t extents[2][2];
    uint32_t extent_count;
    uint8_t written, constant;
    uint32_t index;
    uint64_t offset;
} Forgery;

static void write_forgery(const Forgery *forgery, ByteWriter *bytes) {
    static const uint8_t data[4096];
    byte_write_u32(bytes, 2);
    byte_write_u8(bytes, OBJECT_STORAGE);
    byte_write_u8(bytes, forgery->slot);
    byte_write_u8(bytes, forgery->opaque);
    byte_write_u8(bytes, forgery->sealed);
    byte_write_u64(bytes, forgery->size);
    byte_write_u32(bytes, forgery->extent_count);
    for (uint32_t i = 0; i < forgery->extent_count; i++) {
        byte_write_u64(bytes, forgery->extents[i][0]);
        byte_write_u64(bytes, forgery->extents[i][1]);
        if (forgery->extents[i][1] <= sizeof data)
            byte_write_bytes(bytes, data, forgery->extents[i][1]);
    }
    byte_write_u8(bytes, OBJECT_TENSOR);
    byte_write_u8(bytes, DTYPE_FLOAT32);
    byte_write_u8(bytes, 1);
    byte_write_i64(bytes, 2);
    byte_write_u8(bytes, forgery->written);
    byte_write_u8(bytes, forgery->constant);
    byte_write_u32(bytes, forgery->index);
    byte_write_u64(bytes, forgery->offset);
}

static Error *read_forgery(const CheckpointExample *example, const Forgery *forgery) {
    static const ExecutionOptions options = {.memory_limit_bytes = {1 << 20, 1 << 20}};
    ByteWriter OWN_BYTES(bytes) = {0};
    OWN(Execution, execution) = NULL;
    CheckpointObjects objects = {0};
    write_forgery(forgery, &bytes);
    OWN(Container, forged) = section_replace(example->container, SECTION_OBJECTS, bytes.data,
        bytes.size, memory_store_source((MemoryStore *)(uintptr_t)&example->chunks));
    TRY(execution_create_empty(example->residency, &options, &execution));
    Error *error = checkpoint_objects_read(
        forged, NULL, CHUNK_VERIFY_SHA256, example->residency, execution, NULL, &objects);
    if (!error) checkpoint_objects_deinit(&objects);
    return error;
}

static const Forgery honest = {
    .slot = 1, .size = 8, .extents = {{0, 8}}, .extent_count = 1, .written = 1};

static void test_checkpoint_objects_takes_an_honest_tensor(void **state) {
    (void)state;
    CheckpointExample example;
    checkpoint_example_init(&example, 0);
    assert_ok(read_forgery(&example, &honest));
    Forgery unwritten = {.slot = 1, .opaque = 1, .size = 8};
    assert_ok(read_forgery(&example, &unwritten));
    checkpoint_example_deinit(&example);
}

static void test_checkpoint_objects_rejects_impossible_storages(void **state) {
    (void)state;
    CheckpointExample example;
    checkpoint_example_init(&example, 0);
    Forgery forgery = honest;
    forgery.slot = 2;
    assert_fails_saying(CORRUPT, "slot 2", read_forgery(&example, &forgery));
    forgery = honest;
    forgery.size = 16; /* a value's storage is covered by its bytes */
    assert_fails_saying(CORRUPT, "16 bytes", read_forgery(&example, &forgery));
    forgery = honest;
    forgery.opaque = forgery.sealed = 1;
    assert_fails_saying(CORRUPT, "sealed", read_forgery(&example, &forgery));
    forgery = honest;
    forgery.opaque = 3; /* no kind of storage */
    assert_fails_saying(CORRUPT, "kind 3", read_forgery(&example, &forgery));
    forgery = honest;
    forgery.opaque = 2; /* one that grows is covered, too */
    assert_ok(read_forgery(&example, &forgery));
    forgery.size = 16;
    assert_fails_saying(CORRUPT, "16 bytes of which 8", read_forgery(&example, &forgery));
    forgery.size = 7;
    assert_fails_saying(CORRUPT, "leaves its storage", read_forgery(&example, &forgery));
    forgery.size = UINT64_MAX;
    assert_fails_saying(CORRUPT, "of which 8", read_forgery(&example, &forgery));
    forgery = (Forgery){.slot = 1, .opaque = 1, .size = UINT64_C(1) << 60};
    assert_fails(EXHAUSTED, read_forgery(&example, &forgery));
    checkpoint_example_deinit(&example);
}

static void test_checkpoint_objects_rejects_overlapping_extents(void **state) {
    (void)state;
    CheckpointExample example;
    checkpoint_example_init(&example, 0);
    Forgery forgery = {.slot = 1,
        .opaque = 1,
        .size = 64,
        .extents = {{0, 8}, {4, 8}},
        .extent_count = 2,
        .written = 1};
    assert_fails_saying(CORRUPT, "overlaps", read_forgery(&example, &forgery));
    forgery.extents[1][0] = 60; /* leaves the storage */
    assert_fails_saying(CORRUPT, "overlaps", read_forgery(&example, &forgery));
    forgery.extents[1][0] = UINT64_MAX - 2;
    assert_fails_saying(CORRUPT, "overlaps", read_forgery(&example, &forgery));
    checkpoint_example_deinit(&example);
}

static void test_checkpoint_objects_rejects_impossible_tensors(void **state) {
    (void)state;
    CheckpointExample example;
    checkpoint_example_init(&example, 0);
    Forgery forgery = honest;
    forgery.index = 1; /* itself: no storage */
    assert_fails_saying(CORRUPT, "no storage", read_forgery(&example, &forgery));
    forgery = honest;
    forgery.offset = 4; /* ends behind the storage */
    assert_fails(CORRUPT, read_forgery(&example, &forgery));
    forgery = honest;
    forgery.written = 0; /* only opaque storages hold unwritten ones */
    assert_fails_saying(CORRUPT, "unwritten", read_forgery(&example, &forgery));
    forgery.opaque = 2;
    assert_fails_saying(CORRUPT, "unwritten", read_forgery(&example, &forgery));
    forgery.written = 1; /* into the room behind what is filled */
    forgery.offset = 8;
    assert_fails(CORRUPT, read_forgery(&example, &forgery));
    forgery = (Forgery){
        .slot = 1, .opaque = 1, .size = 64, .extents = {{16, 8}}, .extent_count = 1, .written = 1};
    assert_fails_saying(CORRUPT, "not there", read_forgery(&example, &forgery));
    forgery = honest;
    forgery.constant = 1;
    forgery.index = 3; /* a string */
    assert_fails_saying(CORRUPT, "constant 3", read_forgery(&example, &forgery));
    forgery.index = 1000;
    assert_fails_saying(CORRUPT, "constant 1000", read_forgery(&example, &forgery));
    checkpoint_example_deinit(&example);
}

int test_checkpoint_objects(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoint_objects_takes_an_honest_tensor),
        cmocka_unit_test(test_checkpoint_objects_rejects_impossible_storages),
        cmocka_unit_test(test_checkpoint_objects_rejects_overlapping_extents),
        cmocka_unit_test(test_checkpoint_objects_rejects_impossible_tensors),
    };
    return cmocka_run_group_tests_name("checkpoint_objects", tests, NULL, NULL);
}
