#include "tests/serialize/container_fixtures.h"

static Error *open_manifest(const ByteWriter *manifest) {
    OWN(Container, container) = NULL;
    return container_open_manifest(
        CONTAINER_EXECUTABLE, manifest->data, manifest->size, (ChunkSource){0}, &container);
}

static void example_manifest(ByteWriter *manifest) {
    MemoryStore store = {0};
    Digest identity;
    example_container_write(memory_store_sink(&store), manifest, &identity);
    memory_store_deinit(&store);
}

static void test_container_manifest_rejects_every_flip_and_truncation(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(manifest) = {0};
    example_manifest(&manifest);
    for (size_t i = 0; i < manifest.size; i++)
        for (int bit = 0; bit < 8; bit++) {
            manifest.data[i] ^= (uint8_t)(1 << bit);
            Error *error = open_manifest(&manifest);
            assert_non_null(error);
            error_free(error); /* which one depends on the byte */
            manifest.data[i] ^= (uint8_t)(1 << bit);
        }
    size_t size = manifest.size;
    for (manifest.size = 0; manifest.size < size; manifest.size++)
        assert_fails(CORRUPT, open_manifest(&manifest));
    manifest.size = size;
    byte_write_u8(&manifest, 0);
    assert_fails_saying(CORRUPT, "too many", open_manifest(&manifest));
}

/* Damage to a packed manifest: zstd sees it, or the checksums inside. */
static void test_container_packed_manifest_rejects_every_flip_and_truncation(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(manifest) = {0}, OWN_BYTES(packed) = {0};
    OWN(ContainerWriter, writer) = NULL;
    MemoryStore store = {0};
    assert_ok(
        container_writer_create(CONTAINER_EXECUTABLE, NULL, memory_store_sink(&store), &writer));
    char text[400];
    memset(text, 'x', sizeof text);
    assert_ok(container_writer_add_section(writer, SECTION_CODE, text, sizeof text));
    Digest identity;
    assert_ok(container_writer_finish(writer, &manifest, &identity));
    assert_ok(container_pack_manifest(manifest.data, manifest.size, &packed));
    assert_true(packed.size < manifest.size / 4);
    assert_ok(open_manifest(&packed));
    for (size_t i = 0; i < packed.size; i++)
        for (int bit = 0; bit < 8; bit++) {
            packed.data[i] ^= (uint8_t)(1 << bit);
            OWN(Container, container) = NULL;
            Error *error = container_open_manifest(
                CONTAINER_ANY, packed.data, packed.size, (ChunkSource){0}, &container);
            /* a flip that zstd does not care about may give the same bytes, never others */
            if (!error) assert_ok(container_check_identity(container, &identity));
            error_free(error); /* either is right */
            packed.data[i] ^= (uint8_t)(1 << bit);
        }
    size_t size = packed.size;
    for (packed.size = 0; packed.size < size; packed.size++)
        assert_fails(CORRUPT, open_manifest(&packed));
}

/* Forged tables with right checksums. Section i's entry starts at 16 + 24 i. */
static void manifest_fails(ErrorCode code, const char *text, size_t at, uint32_t value) {
    ByteWriter OWN_BYTES(manifest) = {0};
    example_manifest(&manifest);
    enum { TABLE_END = 16 + 4 * 24 };
    byte_patch_u32(&manifest, at, value);
    if (at >= TABLE_END) { /* in the bulk section, which comes first */
        size_t bulk_size = manifest.data[24] + 256u * manifest.data[25];
        example_repair_checksum(manifest.data + 32, manifest.data + TABLE_END + 8, bulk_size);
    }
    example_repair_checksum(manifest.data + TABLE_END, manifest.data, TABLE_END);
    test_assert_fails(open_manifest(&manifest), code, text, text, __FILE__, __LINE__);
}

static void test_container_manifest_rejects_forged_tables(void **state) {
    (void)state;
    enum { ENTRY = 24, FIRST = 16, BULK = FIRST + 4 * ENTRY + 8 };
    manifest_fails(ERROR_UNSUPPORTED, "format version 2", 8, 2);
    manifest_fails(ERROR_CORRUPT, "ends early", 12, 0xffffffff);
    manifest_fails(ERROR_CORRUPT, "checksum", 12, 5);
    manifest_fails(ERROR_CORRUPT, "out of order", FIRST + ENTRY, 1);
    manifest_fails(ERROR_CORRUPT, "out of order", FIRST + ENTRY, 0);
    manifest_fails(ERROR_UNSUPPORTED, "section 4000 is not known", FIRST + ENTRY, 4000);
    manifest_fails(ERROR_UNSUPPORTED, "section 33 is not known", FIRST + 2 * ENTRY, 33);
    manifest_fails(ERROR_CORRUPT, "unknown flags", FIRST + 4, 2);
    manifest_fails(ERROR_CORRUPT, "the flags of another", FIRST + 4, 1);
    manifest_fails(ERROR_CORRUPT, "ends early", FIRST + 8, 0xffffff);
    manifest_fails(ERROR_CORRUPT, "ends early", FIRST + 12, 0xffffffff);
    manifest_fails(ERROR_CORRUPT, "fails its checksum", FIRST + 8, 1);
    manifest_fails(ERROR_CORRUPT, "0 pieces of bulk data", BULK, 0);
    manifest_fails(ERROR_CORRUPT, "ends early", BULK, 0xffffffff);
    manifest_fails(ERROR_CORRUPT, "ends early", BULK, 3);
    manifest_fails(ERROR_CORRUPT, "too many", BULK, 1);
    manifest_fails(ERROR_CORRUPT, "not so many chunks", BULK + 4, 0x7fffffff);
    manifest_fails(ERROR_CORRUPT, "not so many chunks", BULK + 8, 0xffffffff);
    manifest_fails(ERROR_CORRUPT, "chunks of 0 bytes", BULK + 12, 0);
    manifest_fails(ERROR_CORRUPT, "chunks of 16777216 bytes", BULK + 12, 1 << 24);
}

/* A section that a later version added: skipped when optional. */
static void test_container_skips_unknown_optional_sections(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(manifest) = {0};
    example_manifest(&manifest);
    enum { NAMES = 16 + 3 * 24, TABLE_END = 16 + 4 * 24 };
    assert_int_equal(manifest.data[NAMES], SECTION_NAMES);
    byte_patch_u32(&manifest, NAMES, 4000000);
    example_repair_checksum(manifest.data + TABLE_END, manifest.data, TABLE_END);
    OWN(Container, container) = NULL;
    assert_ok(container_open_manifest(
        CONTAINER_ANY, manifest.data, manifest.size, (ChunkSource){0}, &container));
    assert_string_equal(container_get_section_info(container, 3).name, "unknown");
    assert_false(container_has_section(container, SECTION_NAMES));
    ByteReader reader;
    assert_fails_saying(CORRUPT, "section names is missing",
        container_get_section(container, SECTION_NAMES, &reader));
    ContainerBulk bulk;
    assert_fails(CORRUPT, container_get_bulk(container, 2, &bulk));
}

/* Damage to a file: an error, or (in a chunk) an error when it is read. Never a crash, never other
 * content. */
static void test_container_file_survives_flips_and_truncations(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(bytes) = {0};
    Digest identity;
    example_container_file(&bytes, &identity);
    size_t opened = 0;
    for (size_t i = 0; i<bytes.size; i += i> 200 && i < bytes.size - 500 ? 98 : 1) {
        bytes.data[i] ^= 0x04;
        OWN(Container, container) = NULL;
        Error *error = container_open_memory(CONTAINER_ANY, bytes.data, bytes.size, &container);
        if (!error) {
            opened++;
            assert_ok(container_check_identity(container, &identity));
            uint8_t back[EXAMPLE_BULK_SIZE];
            error =
                container_read_bulks(container, &(BulkRead){0, back}, 1, NULL, CHUNK_VERIFY_XXH3);
        }
        assert_non_null(error);
        error_free(error); /* which one depends on the byte */
        bytes.data[i] ^= 0x04;
    }
    assert_true(opened > 100);
    for (size_t size = 0; size<bytes.size; size += size> 100 && size < bytes.size - 500 ? 62 : 1) {
        OWN(Container, container) = NULL;
        assert_fails(CORRUPT, container_open_memory(CONTAINER_ANY, bytes.data, size, &container));
    }
}

static void file_header_fails(const char *text, size_t at, uint32_t value) {
    ByteWriter OWN_BYTES(bytes) = {0};
    Digest identity;
    example_container_file(&bytes, &identity);
    byte_patch_u32(&bytes, at, value);
    example_repair_checksum(bytes.data + 40, bytes.data, 40);
    OWN(Container, container) = NULL;
    test_assert_fails(container_open_memory(CONTAINER_ANY, bytes.data, bytes.size, &container),
        at == 8 ? ERROR_UNSUPPORTED : ERROR_CORRUPT, text, text, __FILE__, __LINE__);
}

static void test_container_file_rejects_forged_headers(void **state) {
    (void)state;
    file_header_fails("format version 9", 8, 9);
    file_header_fails("checksum", 12, 1);
    file_header_fails("no room for an index", 16, 0xffffffff);
    file_header_fails("no room for an index", 20, 0xffffffff);
    file_header_fails("the chunk index fails", 16, 1);
    file_header_fails("no room for an index", 24, 47);
    file_header_fails("no room for an index", 28, 0xffffffff);
    file_header_fails("bytes instead of", 32, 5);
}

/* The index says where chunks are: sizes that do not tile the file are refused. */
static void test_container_file_rejects_forged_index(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(bytes) = {0};
    Digest identity;
    example_container_file(&bytes, &identity);
    ByteReader reader = byte_reader(bytes.data + 24, 8);
    uint64_t index = 0;
    assert_ok(byte_read_u64(&reader, &index));
    static const struct {
        uint32_t at, value;
        const char *text;
    } rows[] = {
        {36, 0xffffffff, "chunk 0 of the file has"},
        {36, 1, "bytes between the chunks and their index"},
        {76, 30000, "chunk 1 of the file has"},
        {32, 5, "chunk 0 of bulk data 0 is not in the file"},
        {0, 0, "chunk 0 of bulk data 0 is not in the file"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ByteWriter OWN_BYTES(forged) = {0};
        byte_write_bytes(&forged, bytes.data, bytes.size);
        byte_patch_u32(&forged, index + rows[i].at, rows[i].value);
        example_repair_checksum(forged.data + index + 80, forged.data + index, 80);
        OWN(Container, container) = NULL;
        assert_fails_saying(CORRUPT, rows[i].text,
            container_open_memory(CONTAINER_ANY, forged.data, forged.size, &container));
    }
    memcpy(bytes.data + index + 40, bytes.data + index, DIGEST_SIZE);
    example_repair_checksum(bytes.data + index + 80, bytes.data + index, 80);
    OWN(Container, container) = NULL;
    assert_fails_saying(CORRUPT, "stands in the file twice",
        container_open_memory(CONTAINER_ANY, bytes.data, bytes.size, &container));
}

int test_container_parse(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_container_manifest_rejects_every_flip_and_truncation),
        cmocka_unit_test(test_container_packed_manifest_rejects_every_flip_and_truncation),
        cmocka_unit_test(test_container_manifest_rejects_forged_tables),
        cmocka_unit_test(test_container_skips_unknown_optional_sections),
        cmocka_unit_test(test_container_file_survives_flips_and_truncations),
        cmocka_unit_test(test_container_file_rejects_forged_headers),
        cmocka_unit_test(test_container_file_rejects_forged_index),
    };
    return cmocka_run_group_tests_name("container_parse", tests, NULL, NULL);
}
