/* Containers and chunks. The first byte says what the rest is, and whether its checksums are set
 * right first: otherwise mutations would hardly get behind them.
 *
 *      0 file  1 file, repaired  2 manifest  3 manifest, repaired  4 stored chunk, repaired */
#include <string.h>

#include "base/allocator.h"
#include "serialize/container_internal.h"
#include "tests/fuzz/fuzz_target.h"

enum { BULK_SIZE_MAX = 4 << 20 };

static uint64_t get_number(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | at[i];
    return value;
}

static void repair(uint8_t *at, const uint8_t *data, size_t size) {
    uint64_t checksum = digest_xxh3(data, size);
    for (int i = 0; i < CHECKSUM_SIZE; i++) at[i] = (uint8_t)(checksum >> (8 * i));
}

static void repair_chunk(uint8_t *stored, size_t size) {
    if (size >= CHECKSUM_SIZE) repair(stored, stored + CHECKSUM_SIZE, size - CHECKSUM_SIZE);
}

static void repair_manifest(uint8_t *manifest, size_t size) {
    if (size < MANIFEST_HEADER_SIZE) return;
    uint64_t count = get_number(manifest + 12, 4);
    if (count > (size - MANIFEST_HEADER_SIZE) / MANIFEST_ENTRY_SIZE) return;
    size_t table_end = MANIFEST_HEADER_SIZE + (size_t)count * MANIFEST_ENTRY_SIZE;
    if (size - table_end < CHECKSUM_SIZE) return;
    size_t offset = table_end + CHECKSUM_SIZE;
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *entry = manifest + MANIFEST_HEADER_SIZE + i * MANIFEST_ENTRY_SIZE;
        uint64_t section_size = get_number(entry + 8, 8);
        if (section_size > size - offset) break;
        repair(entry + 16, manifest + offset, (size_t)section_size);
        offset += (size_t)section_size;
    }
    repair(manifest + table_end, manifest, table_end);
}

static void repair_file(uint8_t *file, size_t size) {
    if (size < FILE_HEADER_SIZE) return;
    for (int i = 0; i < 8; i++) file[32 + i] = (uint8_t)((uint64_t)size >> (8 * i));
    repair(file + FILE_HEADER_CHECKED_SIZE, file, FILE_HEADER_CHECKED_SIZE);
    uint64_t count = get_number(file + 16, 8), index = get_number(file + 24, 8);
    if (index > size || count > (size - index) / INDEX_ENTRY_SIZE) return;
    uint64_t index_end = index + count * INDEX_ENTRY_SIZE, offset = FILE_HEADER_SIZE;
    if (size - index_end < CHECKSUM_SIZE) return;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t stored_size = get_number(file + index + i * INDEX_ENTRY_SIZE + 36, 4);
        if (offset > index || stored_size > index - offset) break;
        repair_chunk(file + offset, (size_t)stored_size);
        offset += stored_size;
    }
    repair(file + index_end, file + index, (size_t)(index_end - index));
    repair_manifest(file + index_end + CHECKSUM_SIZE, size - (size_t)index_end - CHECKSUM_SIZE);
}

static void read_all(const Container *container) {
    for (size_t i = 0; i < container_section_count(container); i++) {
        ByteReader reader;
        ContainerSection section = container_get_section_info(container, i);
        error_free(container_get_section(container, (SectionNumber)section.number, &reader));
    }
    for (uint32_t i = 0; i < container_bulk_count(container); i++) {
        ContainerBulk bulk;
        void *data = NULL;
        Error *error = container_get_bulk(container, i, &bulk);
        if (!error && bulk.size <= BULK_SIZE_MAX && container_get_source(container).get) {
            error = memory_alloc(1, (size_t)bulk.size, &data);
            if (!error) error = container_read_bulk(container, i, NULL, CHUNK_VERIFY_XXH3, data);
        }
        error_free(error); /* every answer is right */
        memory_free(data);
    }
}

static void decode_chunk(const uint8_t *stored, size_t size) {
    if (size < 16) return;
    uint64_t raw_size = get_number(stored + 12, 4);
    if (raw_size > CHUNK_SIZE) raw_size = CHUNK_SIZE;
    ChunkRef ref = {.raw_size = (uint32_t)raw_size};
    void *raw = NULL;
    Error *error = memory_alloc(1, (size_t)raw_size, &raw);
    if (!error) error = chunk_decode(stored, size, &ref, CHUNK_VERIFY_XXH3, raw);
    error_free(error); /* every answer is right */
    memory_free(raw);
}

static void run(uint8_t mode, uint8_t *data, size_t size) {
    OWN(Container, container) = NULL;
    if (mode == 1) repair_file(data, size);
    if (mode == 3) repair_manifest(data, size);
    if (mode == 4) repair_chunk(data, size);
    if (mode == 4)
        decode_chunk(data, size);
    else if (mode < 2)
        error_free(container_open_memory(CONTAINER_ANY, data, size, &container));
    else
        error_free(
            container_open_manifest(CONTAINER_ANY, data, size, (ChunkSource){0}, &container));
    if (container) read_all(container);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    void *copy = NULL;
    Error *error = memory_alloc(size - 1, 1, &copy);
    if (!error) {
        memcpy(copy, data + 1, size - 1);
        run(data[0] % 5, copy, size - 1);
    }
    memory_free(copy);
    error_free(error);
    return 0;
}
