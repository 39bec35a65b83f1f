/* Containers and chunks. The first byte says what the rest is, and whether its checksums are set
 * right first: otherwise mutations would hardly get behind them.
 *
 *      0 file  1 file, repaired  2 manifest  3 manifest, repaired  4 stored chunk, repaired */
#include <string.h>

#include "base/allocator.h"
#include "serialize/container/container_internal.h"
#include "tests/fuzz/fuzz_repair.h"
#include "tests/fuzz/fuzz_target.h"

enum { BULK_SIZE_MAX = 4 << 20 };

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
            if (!error)
                error = container_read_bulks(
                    container, &(BulkRead){i, data}, 1, NULL, CHUNK_VERIFY_XXH3);
        }
        error_free(error); /* every answer is right */
        memory_free(data);
    }
}

static void decode_chunk(const uint8_t *stored, size_t size) {
    if (size < 16) return;
    uint64_t raw_size = fuzz_get_number(stored + 12, 4);
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
    if (mode == 1) fuzz_repair_file(data, size);
    if (mode == 3) fuzz_repair_manifest(data, size);
    if (mode == 4) fuzz_repair_chunk(data, size);
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
