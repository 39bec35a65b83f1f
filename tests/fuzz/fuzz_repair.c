#include "tests/fuzz/fuzz_repair.h"

#include <string.h>

#include "base/allocator.h"
#include "base/digest.h"
#include "serialize/container/container_internal.h"

uint64_t fuzz_get_number(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | at[i];
    return value;
}

static void repair(uint8_t *at, const uint8_t *data, size_t size) {
    uint64_t checksum = digest_xxh3(data, size);
    for (int i = 0; i < CHECKSUM_SIZE; i++) at[i] = (uint8_t)(checksum >> (8 * i));
}

void fuzz_repair_chunk(uint8_t *stored, size_t size) {
    if (size >= CHECKSUM_SIZE) repair(stored, stored + CHECKSUM_SIZE, size - CHECKSUM_SIZE);
}

void fuzz_repair_manifest(uint8_t *manifest, size_t size) {
    if (size >= PACKED_HEADER_SIZE && memcmp(manifest, PACKED_MAGIC, MAGIC_SIZE) == 0) {
        repair(manifest + MAGIC_SIZE, manifest + PACKED_HEADER_SIZE, size - PACKED_HEADER_SIZE);
        return;
    }
    if (size < MANIFEST_HEADER_SIZE) return;
    uint64_t count = fuzz_get_number(manifest + 12, 4);
    if (count > (size - MANIFEST_HEADER_SIZE) / MANIFEST_ENTRY_SIZE) return;
    size_t table_end = MANIFEST_HEADER_SIZE + (size_t)count * MANIFEST_ENTRY_SIZE;
    if (size - table_end < CHECKSUM_SIZE) return;
    size_t offset = table_end + CHECKSUM_SIZE;
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *entry = manifest + MANIFEST_HEADER_SIZE + i * MANIFEST_ENTRY_SIZE;
        uint64_t section_size = fuzz_get_number(entry + 8, 8);
        if (section_size > size - offset) break;
        repair(entry + 16, manifest + offset, (size_t)section_size);
        offset += (size_t)section_size;
    }
    repair(manifest + table_end, manifest, table_end);
}

void fuzz_repair_file(uint8_t *file, size_t size) {
    if (size < FILE_HEADER_SIZE) return;
    for (int i = 0; i < 8; i++) file[32 + i] = (uint8_t)((uint64_t)size >> (8 * i));
    repair(file + FILE_HEADER_CHECKED_SIZE, file, FILE_HEADER_CHECKED_SIZE);
    uint64_t count = fuzz_get_number(file + 16, 8), index = fuzz_get_number(file + 24, 8);
    if (index > size || count > (size - index) / INDEX_ENTRY_SIZE) return;
    uint64_t index_end = index + count * INDEX_ENTRY_SIZE, offset = FILE_HEADER_SIZE;
    if (size - index_end < CHECKSUM_SIZE) return;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t stored_size = fuzz_get_number(file + index + i * INDEX_ENTRY_SIZE + 36, 4);
        if (offset > index || stored_size > index - offset) break;
        fuzz_repair_chunk(file + offset, (size_t)stored_size);
        offset += stored_size;
    }
    repair(file + index_end, file + index, (size_t)(index_end - index));
    fuzz_repair_manifest(
        file + index_end + CHECKSUM_SIZE, size - (size_t)index_end - CHECKSUM_SIZE);
}

/* The first byte of an input says what the rest is. */
static Error *open_input(
    ContainerKind kind, uint8_t mode, uint8_t *data, size_t size, Container **out) {
    if (mode == 1) fuzz_repair_file(data, size);
    if (mode == 2) fuzz_repair_manifest(data, size);
    if (mode < 2) return container_open_memory(kind, data, size, out);
    return container_open_manifest(kind, data, size, (ChunkSource){0}, out);
}

static Error *open_and_try(
    ContainerKind kind, uint8_t mode, uint8_t *data, size_t size, FuzzContainerTry *try_it) {
    OWN(Container, container) = NULL;
    TRY(open_input(kind, mode, data, size, &container));
    if (mode == 2 && container_bulk_count(container) > 0) return NULL; /* no chunks to read */
    return try_it(container);
}

void fuzz_open_container(
    ContainerKind kind, const uint8_t *input, size_t size, FuzzContainerTry *try_it) {
    void *copy = NULL;
    if (size < 1) return;
    Error *error = memory_alloc(size, 1, &copy);
    if (!error) {
        memcpy(copy, input + 1, size - 1);
        error = open_and_try(kind, input[0] % 3, copy, size - 1, try_it);
    }
    memory_free(copy);
    error_free(error); /* every answer is right */
}
