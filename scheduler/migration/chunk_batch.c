#include "scheduler/migration/chunk_batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"

Error *chunk_names_write(const ChunkRef *refs, size_t count, ByteWriter *out) {
    for (size_t i = 0; i < count; i++) {
        byte_write_bytes(out, refs[i].hash.bytes, DIGEST_SIZE);
        byte_write_u32(out, refs[i].raw_size);
    }
    return byte_writer_check(out);
}

static Error *read_name(ByteReader *reader, ChunkRef *out) {
    const uint8_t *hash;
    TRY(byte_read_view(reader, DIGEST_SIZE, &hash));
    memcpy(out->hash.bytes, hash, DIGEST_SIZE);
    TRY(byte_read_u32(reader, &out->raw_size));
    if (out->raw_size < 1 || out->raw_size > CHUNK_SIZE)
        FAIL(CORRUPT, "a chunk of %u bytes", out->raw_size);
    return NULL;
}

Error *chunk_names_read(const void *data, size_t size, ChunkRef **out_refs, size_t *out_count) {
    ByteReader reader = byte_reader(data, size);
    size_t count = size / CHUNK_NAME_BYTES;
    void *memory;
    if (size % CHUNK_NAME_BYTES || count > CHUNK_NAMES_MAX)
        FAIL(CORRUPT, "%zu bytes of chunks' names", size);
    TRY(memory_alloc(count ? count : 1, sizeof(ChunkRef), &memory));
    ChunkRef *refs = memory;
    for (size_t i = 0; i < count; i++) {
        Error *error = read_name(&reader, &refs[i]);
        if (!error) continue;
        memory_free(refs);
        return error;
    }
    *out_refs = refs;
    *out_count = count;
    return NULL;
}

void chunk_batch_add(
    ByteWriter *batch, const ChunkRef *ref, const void *stored, size_t stored_size) {
    byte_write_bytes(batch, ref->hash.bytes, DIGEST_SIZE);
    byte_write_u32(batch, ref->raw_size);
    byte_write_u32(batch, (uint32_t)stored_size);
    byte_write_bytes(batch, stored, stored_size);
}

/* ---- reading a batch ---- */

typedef struct BatchEntry {
    Digest hash;
    const uint8_t *stored;
    size_t size;
} BatchEntry;

struct ChunkBatch {
    ChunkRef *refs;
    BatchEntry *entries; /* by hash */
    size_t count;
};

static int compare(const void *a, const void *b) {
    return memcmp(
        ((const BatchEntry *)a)->hash.bytes, ((const BatchEntry *)b)->hash.bytes, DIGEST_SIZE);
}

static Error *read_chunk(ByteReader *reader, ChunkRef *out_ref, BatchEntry *out_entry) {
    uint32_t size;
    TRY(read_name(reader, out_ref));
    TRY(byte_read_u32(reader, &size));
    if (size > CHUNK_STORED_SIZE_MAX) FAIL(CORRUPT, "a stored chunk of %u bytes", size);
    out_entry->hash = out_ref->hash;
    out_entry->size = size;
    return byte_read_view(reader, size, &out_entry->stored);
}

static Error *read_all(ChunkBatch *batch, ByteReader reader) {
    size_t refs_capacity = 0, entries_capacity = 0;
    while (byte_reader_left(&reader) > 0) {
        void *refs = batch->refs, *entries = batch->entries;
        TRY(memory_grow(&refs, batch->count, &refs_capacity, sizeof(ChunkRef)));
        batch->refs = refs;
        TRY(memory_grow(&entries, batch->count, &entries_capacity, sizeof(BatchEntry)));
        batch->entries = entries;
        TRY(read_chunk(&reader, &batch->refs[batch->count], &batch->entries[batch->count]));
        batch->count++;
    }
    if (batch->count > 0) qsort(batch->entries, batch->count, sizeof(BatchEntry), compare);
    return NULL;
}

Error *chunk_batch_open(const void *data, size_t size, ChunkBatch **out_batch) {
    OWN(ChunkBatch, batch) = NULL;
    if (size > CHUNK_BATCH_BYTES_MAX) FAIL(CORRUPT, "a batch of %zu bytes", size);
    TRY(memory_alloc(1, sizeof *batch, (void **)&batch));
    TRY(read_all(batch, byte_reader(data, size)));
    *out_batch = TAKE(batch);
    return NULL;
}

void chunk_batch_close(ChunkBatch *batch) {
    if (!batch) return;
    memory_free(batch->refs);
    memory_free(batch->entries);
    memory_free(batch);
}

const ChunkRef *chunk_batch_refs(const ChunkBatch *batch, size_t *out_count) {
    *out_count = batch->count;
    return batch->refs;
}

static Error *get(void *self, const ChunkRef *ref, ByteWriter *inout_stored) {
    const ChunkBatch *batch = self;
    const BatchEntry wanted = {.hash = ref->hash};
    const BatchEntry *entry =
        batch->count ? bsearch(&wanted, batch->entries, batch->count, sizeof wanted, compare)
                     : NULL;
    if (!entry) FAIL(NOT_FOUND, "the chunk is not in the batch");
    inout_stored->size = 0;
    byte_write_bytes(inout_stored, entry->stored, entry->size);
    return byte_writer_check(inout_stored);
}

ChunkSource chunk_batch_source(ChunkBatch *batch) { return (ChunkSource){get, batch}; }

/* ---- what is missing ---- */

static const char digits[] = "0123456789abcdef";

Error *chunk_bits_print(const uint8_t *bits, size_t count, char **out_text) {
    void *memory;
    size_t size = (count + 3) / 4;
    TRY(memory_alloc(size + 1, 1, &memory));
    char *text = memory;
    for (size_t i = 0; i < size; i++) text[i] = digits[bits[i / 2] >> (i % 2 * 4) & 15];
    text[size] = 0;
    *out_text = text;
    return NULL;
}

Error *chunk_bits_parse(const char *text, size_t count, uint8_t **out_bits) {
    void *memory;
    size_t size = strlen(text);
    if (size != (count + 3) / 4) FAIL(CORRUPT, "%zu digits for %zu chunks", size, count);
    TRY(memory_alloc(size / 2 + 1, 1, &memory));
    uint8_t *bits = memory;
    for (size_t i = 0; i < size; i++) {
        const char *digit = memchr(digits, text[i], 16);
        if (!digit) {
            memory_free(bits);
            FAIL(CORRUPT, "a digit that is none");
        }
        bits[i / 2] = (uint8_t)(bits[i / 2] | (digit - digits) << (i % 2 * 4));
    }
    *out_bits = bits;
    return NULL;
}
