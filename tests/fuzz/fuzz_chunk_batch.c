/* What nodes send each other about chunks. The first byte: 0 names  1 a batch  2 bits, their count
 * in the next two. What is read is what is written again. */
#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "scheduler/migration/chunk_batch.h"
#include "tests/fuzz/fuzz_target.h"

static void must(bool holds) {
    if (!holds) abort();
}

static void read_names(const uint8_t *data, size_t size) {
    ByteWriter OWN_BYTES(again) = {0};
    ChunkRef *refs;
    size_t count;
    Error *error = chunk_names_read(data, size, &refs, &count);
    if (!error) {
        error = chunk_names_write(refs, count, &again);
        if (!error) must(again.size == size && (!size || memcmp(again.data, data, size) == 0));
        memory_free(refs);
    }
    error_free(error);
}

static Error *read_batch(const uint8_t *data, size_t size) {
    ByteWriter OWN_BYTES(stored) = {0};
    OWN(ChunkBatch, batch) = NULL;
    size_t count;
    TRY(chunk_batch_open(data, size, &batch));
    const ChunkRef *refs = chunk_batch_refs(batch, &count);
    ChunkSource source = chunk_batch_source(batch);
    uint8_t *raw;
    TRY(memory_alloc(CHUNK_SIZE, 1, (void **)&raw));
    for (size_t i = 0; i < count && i < 64; i++) {
        must(refs[i].raw_size >= 1 && refs[i].raw_size <= CHUNK_SIZE);
        Error *error = source.get(source.self, &refs[i], &stored);
        if (!error)
            error = chunk_decode(stored.data, stored.size, &refs[i], CHUNK_VERIFY_SHA256, raw);
        error_free(error); /* every answer is right */
    }
    memory_free(raw);
    return NULL;
}

static void read_bits(const uint8_t *data, size_t size) {
    char text[512], *again;
    uint8_t *bits;
    if (size < 2) return;
    size_t count = (size_t)data[0] | (size_t)data[1] << 8, length = size - 2;
    if (length >= sizeof text) return;
    memcpy(text, data + 2, length);
    text[length] = 0;
    Error *error = chunk_bits_parse(text, count, &bits);
    if (!error) {
        error = chunk_bits_print(bits, count, &again);
        if (!error) {
            must(strcmp(again, text) == 0);
            memory_free(again);
        }
        memory_free(bits);
    }
    error_free(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    if (data[0] == 0)
        read_names(data + 1, size - 1);
    else if (data[0] == 1)
        error_free(read_batch(data + 1, size - 1));
    else
        read_bits(data + 1, size - 1);
    return 0;
}
