#include "scheduler/migration/chunk_batch.h"

#include <string.h>

#include "base/allocator.h"
#include "tests/support/test_support.h"

enum { REFS = 5 };

static void make_refs(ChunkRef *refs, size_t count) {
    memset(refs, 0, count * sizeof *refs);
    for (size_t i = 0; i < count; i++) {
        refs[i].hash.bytes[0] = (uint8_t)(200 - i * 30); /* not in their order */
        refs[i].hash.bytes[31] = (uint8_t)i;
        refs[i].raw_size = (uint32_t)(i + 1) * 100;
    }
}

static void test_chunk_names_are_read_as_written(void **state) {
    (void)state;
    ChunkRef refs[REFS], *read;
    size_t count;
    ByteWriter OWN_BYTES(names) = {0};
    make_refs(refs, REFS);
    refs[4].raw_size = CHUNK_SIZE;
    assert_ok(chunk_names_write(refs, REFS, &names));
    assert_int_equal(names.size, REFS * CHUNK_NAME_BYTES);
    assert_ok(chunk_names_read(names.data, names.size, &read, &count));
    assert_int_equal(count, REFS);
    for (size_t i = 0; i < REFS; i++) {
        assert_memory_equal(read[i].hash.bytes, refs[i].hash.bytes, DIGEST_SIZE);
        assert_int_equal(read[i].raw_size, refs[i].raw_size);
    }
    memory_free(read);
    assert_ok(chunk_names_read(NULL, 0, &read, &count));
    assert_int_equal(count, 0);
    memory_free(read);
}

static void test_chunk_names_that_none_has_are_refused(void **state) {
    (void)state;
    static const uint32_t sizes[] = {0, CHUNK_SIZE + 1, UINT32_MAX};
    ChunkRef ref, *read;
    size_t count;
    make_refs(&ref, 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ByteWriter OWN_BYTES(names) = {0};
        ref.raw_size = sizes[i];
        assert_ok(chunk_names_write(&ref, 1, &names));
        assert_fails(CORRUPT, chunk_names_read(names.data, names.size, &read, &count));
    }
    ByteWriter OWN_BYTES(names) = {0};
    ref.raw_size = 1;
    for (size_t i = 0; i < CHUNK_NAMES_MAX; i++) assert_ok(chunk_names_write(&ref, 1, &names));
    assert_ok(chunk_names_read(names.data, names.size, &read, &count));
    assert_int_equal(count, CHUNK_NAMES_MAX);
    memory_free(read);
    for (size_t cut = 1; cut < CHUNK_NAME_BYTES; cut++)
        assert_fails(CORRUPT, chunk_names_read(names.data, cut, &read, &count));
    assert_ok(chunk_names_write(&ref, 1, &names));
    assert_fails(CORRUPT, chunk_names_read(names.data, names.size, &read, &count));
}

static void write_batch(const ChunkRef *refs, size_t count, ByteWriter *out) {
    uint8_t stored[REFS];
    for (size_t i = 0; i < count; i++) {
        memset(stored, (int)i, sizeof stored);
        chunk_batch_add(out, &refs[i], stored, i);
    }
    assert_ok(byte_writer_check(out));
}

static void test_chunk_batch_gives_what_was_added(void **state) {
    (void)state;
    ChunkRef refs[REFS];
    size_t count;
    ByteWriter OWN_BYTES(bytes) = {0};
    ByteWriter OWN_BYTES(stored) = {0};
    OWN(ChunkBatch, batch) = NULL;
    make_refs(refs, REFS);
    write_batch(refs, REFS, &bytes);
    assert_ok(chunk_batch_open(bytes.data, bytes.size, &batch));
    const ChunkRef *read = chunk_batch_refs(batch, &count);
    ChunkSource source = chunk_batch_source(batch);
    assert_int_equal(count, REFS);
    for (size_t i = 0; i < REFS; i++) {
        assert_memory_equal(&read[i], &refs[i], sizeof refs[i]);
        assert_ok(source.get(source.self, &refs[i], &stored));
        assert_int_equal(stored.size, i);
        for (size_t k = 0; k < i; k++) assert_int_equal(stored.data[k], i);
    }
    refs[0].hash.bytes[5] = 1;
    assert_fails(NOT_FOUND, source.get(source.self, &refs[0], &stored));
}

static void test_chunk_batch_without_chunks_is_one(void **state) {
    (void)state;
    size_t count;
    ChunkRef ref;
    ByteWriter OWN_BYTES(stored) = {0};
    OWN(ChunkBatch, batch) = NULL;
    make_refs(&ref, 1);
    assert_ok(chunk_batch_open(NULL, 0, &batch));
    (void)chunk_batch_refs(batch, &count);
    assert_int_equal(count, 0);
    ChunkSource source = chunk_batch_source(batch);
    assert_fails(NOT_FOUND, source.get(source.self, &ref, &stored));
}

/* Every length but those that end after a chunk; sizes that go beyond the body, or beyond all. */
static void test_chunk_batch_refuses_what_cannot_be(void **state) {
    (void)state;
    static const uint32_t sizes[] = {REFS, CHUNK_STORED_SIZE_MAX + 1, UINT32_MAX};
    ChunkRef refs[REFS];
    ByteWriter OWN_BYTES(bytes) = {0};
    ChunkBatch *batch;
    make_refs(refs, REFS);
    write_batch(refs, REFS, &bytes);
    size_t next = 0, whole = 0;
    for (size_t cut = 0; cut < bytes.size; cut++) {
        if (cut == next) {
            assert_ok(chunk_batch_open(bytes.data, cut, &batch));
            chunk_batch_close(batch);
            next += CHUNK_NAME_BYTES + 4 + whole++;
        } else {
            assert_fails(CORRUPT, chunk_batch_open(bytes.data, cut, &batch));
        }
    }
    assert_int_equal(whole, REFS);
    uint8_t *last = bytes.data + bytes.size - (REFS - 1) - 4;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memcpy(last, &sizes[i], 4);
        assert_fails(CORRUPT, chunk_batch_open(bytes.data, bytes.size, &batch));
    }
    memset(bytes.data + DIGEST_SIZE, 0, 4); /* the first one's raw size */
    assert_fails(CORRUPT, chunk_batch_open(bytes.data, bytes.size, &batch));
    assert_fails(CORRUPT, chunk_batch_open(bytes.data, (size_t)CHUNK_BATCH_BYTES_MAX + 1, &batch));
}

static void test_chunk_bits_are_parsed_as_printed(void **state) {
    (void)state;
    for (size_t count = 0; count < 70; count++) {
        uint8_t bits[16] = {0}, *parsed;
        char *text;
        for (size_t i = 0; i < count; i += 3) chunk_bits_set(bits, i);
        assert_ok(chunk_bits_print(bits, count, &text));
        assert_int_equal(strlen(text), (count + 3) / 4);
        assert_ok(chunk_bits_parse(text, count, &parsed));
        for (size_t i = 0; i < count; i++) assert_int_equal(chunk_bits_get(parsed, i), i % 3 == 0);
        memory_free(parsed);
        memory_free(text);
    }
    uint8_t bits[2] = {0x21, 0x43};
    char *text;
    assert_ok(chunk_bits_print(bits, 13, &text));
    assert_string_equal(text, "1234"); /* the lowest first */
    memory_free(text);
}

static void test_chunk_bits_of_another_count_or_alphabet_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "0", "000", "0g", "0F", " 0",
        ("\xff"
         "0")};
    uint8_t *bits;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_fails(CORRUPT, chunk_bits_parse(wrong[i], 8, &bits));
}

int test_chunk_batch(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunk_names_are_read_as_written),
        cmocka_unit_test(test_chunk_names_that_none_has_are_refused),
        cmocka_unit_test(test_chunk_batch_gives_what_was_added),
        cmocka_unit_test(test_chunk_batch_without_chunks_is_one),
        cmocka_unit_test(test_chunk_batch_refuses_what_cannot_be),
        cmocka_unit_test(test_chunk_bits_are_parsed_as_printed),
        cmocka_unit_test(test_chunk_bits_of_another_count_or_alphabet_are_refused),
    };
    return cmocka_run_group_tests_name("chunk_batch", tests, NULL, NULL);
}
