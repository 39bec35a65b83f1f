#pragma once
/* Chunks on their way between nodes: questions which of them are missing, and batches of them.
 *
 *      names: (hash 32, raw size u32)*            little-endian, as everything
 *      batch: (hash 32, raw size u32, stored size u32, stored bytes)*
 *
 * Nothing that comes in is believed: sizes are compared with what is there, and what a chunk holds
 * with its name when it is taken (chunk_copy with CHUNK_VERIFY_SHA256).
 *
 * Stored as: docs/wire.md */
#include "serialize/chunk/chunk.h"

enum {
    CHUNK_BATCH_BYTES = 4 << 20,      /* a batch is sent when it has so many */
    CHUNK_BATCH_BYTES_MAX = 16 << 20, /* and is never larger */
    CHUNK_NAME_BYTES = DIGEST_SIZE + 4,
    CHUNK_NAMES_MAX = 1 << 20, /* in one question */
};

/* ---- Names ---- */
MUST_CHECK Error *chunk_names_write(const ChunkRef *refs, size_t count, ByteWriter *out);
/* out_refs: memory_free. Errors: CORRUPT a raw size that none has, or too many. */
MUST_CHECK Error *chunk_names_read(
    const void *data, size_t size, ChunkRef **out_refs, size_t *out_count);

/* ---- Batches ---- */
void chunk_batch_add(
    ByteWriter *batch, const ChunkRef *ref, const void *stored, size_t stored_size);

typedef struct ChunkBatch ChunkBatch;

/* Borrows data. Errors: CORRUPT. */
MUST_CHECK Error *chunk_batch_open(const void *data, size_t size, ChunkBatch **out_batch);
void chunk_batch_close(ChunkBatch *batch);
DEFINE_OWN(ChunkBatch, chunk_batch_close);
/* In the order in which they came; borrowed. */
const ChunkRef *chunk_batch_refs(const ChunkBatch *batch, size_t *out_count);
/* Their stored bytes, unverified. Threads: any. */
ChunkSource chunk_batch_source(ChunkBatch *batch);

/* ---- What is missing: a bit for each name, as hexadecimal digits, lowest bit first ---- */
MUST_CHECK Error *chunk_bits_print(const uint8_t *bits, size_t count, char **out_text);
/* out_bits: memory_free. Errors: CORRUPT other digits, or not as many as count asks for. */
MUST_CHECK Error *chunk_bits_parse(const char *text, size_t count, uint8_t **out_bits);
static inline bool chunk_bits_get(const uint8_t *bits, size_t index) {
    return bits[index / 8] >> (index % 8) & 1;
}
static inline void chunk_bits_set(uint8_t *bits, size_t index) {
    bits[index / 8] = (uint8_t)(bits[index / 8] | 1 << (index % 8));
}
