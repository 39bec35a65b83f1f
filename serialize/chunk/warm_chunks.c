#include "serialize/chunk/warm_chunks.h"

#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"

void warm_chunks_deinit(WarmChunks *chunks) {
    memory_free(chunks->items);
    *chunks = (WarmChunks){0};
}

Error *warm_chunks_add(WarmChunks *chunks, const ChunkRef *refs, size_t count, const void *bytes) {
    const uint8_t *at = bytes;
    for (size_t i = 0; i < count; i++) {
        void *items = chunks->items;
        TRY(memory_grow(&items, chunks->count, &chunks->capacity, sizeof(WarmChunk)));
        chunks->items = items;
        chunks->items[chunks->count++] = (WarmChunk){refs[i], at};
        at += refs[i].raw_size;
    }
    chunks->is_sorted = false;
    return NULL;
}

static int compare(const void *a, const void *b) {
    const WarmChunk *left = a, *right = b;
    return memcmp(left->ref.hash.bytes, right->ref.hash.bytes, DIGEST_SIZE);
}

/* Returns the chunk's bytes, or NULL if the set lacks it. */
static const void *find(const WarmChunks *chunks, const ChunkRef *ref) {
    const WarmChunk key = {.ref = *ref};
    if (chunks->count == 0) return NULL;
    const WarmChunk *found =
        bsearch(&key, chunks->items, chunks->count, sizeof(WarmChunk), compare);
    return found && found->ref.raw_size == ref->raw_size ? found->bytes : NULL;
}

typedef struct CopyPiece {
    const void *from;
    void *to;
    uint32_t size;
} CopyPiece;

/* Chunks to copy from memory, and runs of chunks to read. */
typedef struct Split {
    CopyPiece *copies;
    size_t copy_count, copy_capacity;
    ChunkRun *runs;
    size_t run_count, run_capacity;
    uint64_t copied, decoded;
} Split;

static Error *add_copy(Split *split, const void *from, uint8_t *to, uint32_t size) {
    void *copies = split->copies;
    TRY(memory_grow(&copies, split->copy_count, &split->copy_capacity, sizeof(CopyPiece)));
    split->copies = copies;
    split->copies[split->copy_count++] = (CopyPiece){from, to, size};
    split->copied += size;
    return NULL;
}

static Error *add_read(Split *split, const ChunkRef *ref, uint8_t *to, bool goes_on) {
    split->decoded += ref->raw_size;
    if (goes_on) {
        split->runs[split->run_count - 1].count++;
        return NULL;
    }
    void *runs = split->runs;
    TRY(memory_grow(&runs, split->run_count, &split->run_capacity, sizeof(ChunkRun)));
    split->runs = runs;
    split->runs[split->run_count++] = (ChunkRun){ref, 1, to};
    return NULL;
}

static Error *split_run(const WarmChunks *chunks, const ChunkRun *run, Split *split) {
    uint8_t *to = run->out_data;
    bool goes_on = false;
    for (size_t i = 0; i < run->count; i++) {
        const void *from = find(chunks, &run->refs[i]);
        if (from)
            TRY(add_copy(split, from, to, run->refs[i].raw_size));
        else
            TRY(add_read(split, &run->refs[i], to, goes_on));
        goes_on = !from;
        to += run->refs[i].raw_size;
    }
    return NULL;
}

static Error *copy_task(void *context, size_t index) {
    const Split *split = context;
    const CopyPiece *piece = &split->copies[index];
    memcpy(piece->to, piece->from, piece->size);
    return NULL;
}

static Error *read_split(const WarmChunks *chunks, WorkerPool *pool, const ChunkRun *runs,
    size_t run_count, ChunkVerify verify, ChunkSource source, Split *split) {
    for (size_t i = 0; i < run_count; i++) TRY(split_run(chunks, &runs[i], split));
    TRY(worker_pool_for_each(pool, split->copy_count, copy_task, split));
    if (split->run_count > 0 && !source.get) FAIL(INTERNAL, "chunks without a source");
    return chunk_read_data(pool, split->runs, split->run_count, verify, source);
}

Error *warm_chunks_read(WarmChunks *chunks, WorkerPool *pool, const ChunkRun *runs,
    size_t run_count, ChunkVerify verify, ChunkSource source, uint64_t *inout_copied,
    uint64_t *inout_decoded) {
    Split split = {0};
    if (!chunks->is_sorted && chunks->count > 0)
        qsort(chunks->items, chunks->count, sizeof(WarmChunk), compare);
    chunks->is_sorted = true;
    Error *error = read_split(chunks, pool, runs, run_count, verify, source, &split);
    memory_free(split.copies);
    memory_free(split.runs);
    *inout_copied += split.copied;
    *inout_decoded += split.decoded;
    return error;
}
