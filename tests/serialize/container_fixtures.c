#include "tests/serialize/container_fixtures.h"

const uint8_t *example_bulk(void) {
    static uint8_t bytes[EXAMPLE_BULK_SIZE];
    uint64_t seed = 31;
    for (size_t i = 0; i < EXAMPLE_BULK_SIZE; i++) bytes[i] = (uint8_t)(test_random(&seed) & 63);
    return bytes;
}

void example_container_write(ChunkSink sink, ByteWriter *manifest, Digest *identity) {
    OWN(ContainerWriter, writer) = NULL;
    assert_ok(container_writer_create(CONTAINER_EXECUTABLE, NULL, sink, &writer));
    assert_ok(container_writer_add_section(writer, SECTION_CODE, "code!", 5));
    uint32_t index = 77;
    assert_ok(container_writer_add_bulk(writer, example_bulk(), EXAMPLE_BULK_SIZE,
        CHUNK_APPEND_SIZE, CHUNK_FILTER_BYTES, (KnownChunks){0}, &index));
    assert_int_equal(index, 0);
    assert_ok(container_writer_add_bulk(
        writer, NULL, 0, CHUNK_SIZE, CHUNK_FILTER_FLOAT32, (KnownChunks){0}, &index));
    assert_int_equal(index, 1);
    assert_ok(container_writer_add_section(writer, SECTION_NAMES, "name", 4));
    assert_ok(container_writer_add_section(writer, SECTION_GLOBALS, NULL, 0));
    assert_ok(container_writer_finish(writer, manifest, identity));
}

void example_container_file(ByteWriter *bytes, Digest *identity) {
    OWN(ContainerFile, file) = NULL;
    assert_ok(container_file_create(NULL, bytes, &file));
    ByteWriter OWN_BYTES(manifest) = {0};
    example_container_write(container_file_get_sink(file), &manifest, identity);
    assert_ok(container_file_finish(file, manifest.data, manifest.size));
}

void example_repair_checksum(uint8_t *at, const void *data, size_t size) {
    uint64_t checksum = digest_xxh3(data, size);
    for (int i = 0; i < 8; i++) at[i] = (uint8_t)(checksum >> (8 * i));
}
