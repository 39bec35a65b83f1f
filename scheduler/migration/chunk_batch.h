#pragma once
/* The bytes of chunks between nodes: lists of names that ask which chunks are missing, and batches
 * of chunks. Called by both sides (chunk_sender.c and target_link.c; route_arrivals.c and
 * arrival_service.c). Pure but for ChunkBatch, which one thread opens and any may read.
 *
 *      names: (hash 32, raw size u32)*            little-endian, as all numbers
 *      batch: (hash 32, raw size u32, stored size u32, stored bytes)*
 *
 * Received bytes are not trusted: sizes are compared with the bytes that are there, and a chunk's
 * content with its name when the chunk is taken (chunk_copy with CHUNK_VERIFY_SHA256).
 *
 * Stored as: docs/wire.md */
#include "serialize/chunk/chunk.h"

enum {
    CHUNK_BATCH_BYTES = 4 << 20,      /* a batch is sent when it has so many */
    CHUNK_BATCH_BYTES_MAX = 16 << 20, /* upper bound on a batch */
    CHUNK_NAME_BYTES = DIGEST_SIZE + 4,
    CHUNK_NAMES_MAX = 1 << 20, /* in one question */
};

/* ---- Names ---- */
MUST_CHECK Error *chunk_names_write(const ChunkRef *refs, size_t count, ByteWriter *out);
/* out_refs: freed by memory_free. Errors: CORRUPT: an impossible raw size, or too many names. */
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
/* The names in the order of the batch; borrowed. */
const ChunkRef *chunk_batch_refs(const ChunkBatch *batch, size_t *out_count);
/* The chunks' stored bytes, unverified. Threads: any. */
ChunkSource chunk_batch_source(ChunkBatch *batch);

/* ---- Missing chunks: a bit for each name, as hexadecimal digits, lowest bit first ---- */
MUST_CHECK Error *chunk_bits_print(const uint8_t *bits, size_t count, char **out_text);
/* out_bits: freed by memory_free. Errors: CORRUPT: other digits, or not as many as count needs. */
MUST_CHECK Error *chunk_bits_parse(const char *text, size_t count, uint8_t **out_bits);
static inline bool chunk_bits_get(const uint8_t *bits, size_t index) {
    return bits[index / 8] >> (index % 8) & 1;
}
static inline void chunk_bits_set(uint8_t *bits, size_t index) {
    bits[index / 8] = (uint8_t)(bits[index / 8] | 1 << (index % 8));
}
