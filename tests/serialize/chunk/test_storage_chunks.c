#include "serialize/chunk/storage_chunks.h"

#include <string.h>

#include "tests/support/test_support.h"

enum { SIZE = 5 * CHUNK_APPEND_SIZE / 2 }; /* two chunks and a half */

static void name_chunks(ChunkRef *refs, size_t count, uint64_t size, uint8_t seed) {
    for (size_t i = 0; i < count; i++) {
        const uint64_t left = size - i * CHUNK_APPEND_SIZE;
        memset(refs[i].hash.bytes, seed + (int)i, DIGEST_SIZE);
        refs[i].raw_size = left < CHUNK_APPEND_SIZE ? (uint32_t)left : CHUNK_APPEND_SIZE;
    }
}

static void test_storage_chunks_are_known_once_they_are_noted(void **state) {
    (void)state;
    OWN(Storage, storage) = NULL;
    ChunkRef refs[3], known[3];
    assert_ok(storage_create_on_host(device_host(), 2 * SIZE, &storage));
    assert_int_equal(storage_chunks_get(storage, 0, SIZE, CHUNK_APPEND_SIZE, known), 0);
    name_chunks(refs, 3, SIZE, 10);
    storage_chunks_note(storage, 64, SIZE, CHUNK_APPEND_SIZE, refs);
    assert_int_equal(storage_chunks_get(storage, 64, SIZE, CHUNK_APPEND_SIZE, known), 3);
    assert_memory_equal(known, refs, sizeof refs);
    /* other bytes, or otherwise cut */
    assert_int_equal(storage_chunks_get(storage, 0, SIZE, CHUNK_APPEND_SIZE, known), 0);
    assert_int_equal(storage_chunks_get(storage, 64, SIZE, CHUNK_SIZE, known), 0);
}

static void test_storage_chunks_of_grown_data_stay_known_but_the_last(void **state) {
    (void)state;
    OWN(Storage, storage) = NULL;
    ChunkRef refs[4], known[4];
    const uint64_t grown = SIZE + CHUNK_APPEND_SIZE;
    assert_ok(storage_create_on_host(device_host(), 2 * SIZE, &storage));
    name_chunks(refs, 3, SIZE, 10);
    storage_chunks_note(storage, 0, SIZE, CHUNK_APPEND_SIZE, refs);
    assert_int_equal(storage_chunks_get(storage, 0, grown, CHUNK_APPEND_SIZE, known), 2);
    name_chunks(refs, 4, grown, 10);
    storage_chunks_note(storage, 0, grown, CHUNK_APPEND_SIZE, refs);
    assert_int_equal(storage_chunks_get(storage, 0, grown, CHUNK_APPEND_SIZE, known), 4);
    assert_int_equal(storage_chunks_get(storage, 0, SIZE, CHUNK_APPEND_SIZE, known), 2);
    name_chunks(refs, 3, SIZE, 10); /* what is longer is not forgotten for what is shorter */
    storage_chunks_note(storage, 0, SIZE, CHUNK_APPEND_SIZE, refs);
    assert_int_equal(storage_chunks_get(storage, 0, grown, CHUNK_APPEND_SIZE, known), 4);
}

static void test_storage_chunks_are_kept_for_a_few_extents(void **state) {
    (void)state;
    OWN(Storage, storage) = NULL;
    ChunkRef ref, known;
    uint32_t kept = 0;
    assert_ok(storage_create_on_host(device_host(), SIZE, &storage));
    for (uint64_t i = 0; i < 40; i++) {
        name_chunks(&ref, 1, 64, (uint8_t)i);
        storage_chunks_note(storage, i * 128, 64, CHUNK_SIZE, &ref);
    }
    for (uint64_t i = 0; i < 40; i++) {
        if (!storage_chunks_get(storage, i * 128, 64, CHUNK_SIZE, &known)) continue;
        assert_int_equal(known.hash.bytes[0], i);
        kept++;
    }
    assert_in_range(kept, 1, 39);
}

static void test_storage_chunks_go_when_the_bytes_do(void **state) {
    (void)state;
    OWN(Storage, storage) = NULL;
    ChunkRef ref;
    assert_ok(storage_create_on_host(device_host(), SIZE, &storage));
    name_chunks(&ref, 1, 64, 1);
    storage_chunks_note(storage, 0, 64, CHUNK_SIZE, &ref);
    storage_forget_annotation(storage);
    assert_int_equal(storage_chunks_get(storage, 0, 64, CHUNK_SIZE, &ref), 0);
    storage_chunks_note(storage, 0, 0, CHUNK_SIZE, NULL); /* no bytes, nothing to know */
    assert_null(storage_get_annotation(storage));
}

int test_storage_chunks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_storage_chunks_are_known_once_they_are_noted),
        cmocka_unit_test(test_storage_chunks_of_grown_data_stay_known_but_the_last),
        cmocka_unit_test(test_storage_chunks_are_kept_for_a_few_extents),
        cmocka_unit_test(test_storage_chunks_go_when_the_bytes_do),
    };
    return cmocka_run_group_tests_name("storage_chunks", tests, NULL, NULL);
}
