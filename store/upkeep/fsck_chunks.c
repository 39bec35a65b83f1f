#include <string.h>

#include "base/allocator.h"
#include "store/chunks/chunk_reader.h"
#include "store/database/recent_chunks.h"
#include "store/upkeep/fsck_internal.h"
#include "store/database/transaction.h"

/* Chunks hashed at once, at most one for each thread of the pool. */
enum { BATCH_CHUNKS = 64 };

typedef struct CheckedChunk {
    TenantId tenant;
    int64_t id;
    ChunkRef ref;
    uint64_t stored_size;
    Error *error; /* the chunk's fault, or NULL */
} CheckedChunk;

typedef struct Batch {
    CheckedChunk chunks[BATCH_CHUNKS];
    size_t count;
    TenantId last_tenant; /* the last row of the list so far */
    Digest last_hash;
} Batch;

/* The chunks of one tenant in a batch. */
typedef struct Share {
    ChunkSource source;
    CheckedChunk *chunks;
} Share;

static Error *read_and_decode(ChunkSource source, const ChunkRef *ref) {
    ByteWriter OWN_BYTES(stored) = {0};
    TRY(source.get(source.self, ref, &stored));
    void *raw;
    TRY(memory_alloc(1, ref->raw_size, &raw));
    Error *error = chunk_decode(stored.data, stored.size, ref, CHUNK_VERIFY_SHA256, raw);
    memory_free(raw);
    return error;
}

static Error *fetch_from(const ChunkSource *other, const ChunkRef *ref, ByteWriter *stored) {
    TRY(other->get(other->self, ref, stored));
    if (stored->size < 1 || stored->size > CHUNK_STORED_SIZE_MAX)
        FAIL(CORRUPT, "a chunk of %zu bytes", stored->size);
    void *raw;
    TRY(memory_alloc(1, ref->raw_size, &raw));
    Error *error = chunk_decode(stored->data, stored->size, ref, CHUNK_VERIFY_SHA256, raw);
    memory_free(raw);
    return error;
}

static Error *replace(
    Store *store, TenantId tenant, const ChunkRef *ref, const ByteWriter *stored) {
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(store, DATABASE_CHUNKS, &transaction));
    {
        Query OWN_QUERY(query) = query_start(transaction.connection, STATEMENT_REPLACE_CHUNK);
        query_bind_i64(&query, 1, tenant);
        query_bind_digest(&query, 2, &ref->hash);
        query_bind_i64(&query, 3, ref->raw_size);
        query_bind_blob(&query, 4, stored->data, stored->size);
        TRY(query_run(&query));
    }
    TRY(transaction_commit(&transaction));
    recent_chunks_forget(store->recent_chunks, tenant, &ref->hash);
    return NULL;
}

Error *fsck_repair_chunk(Fsck *fsck, TenantId tenant, const ChunkRef *ref, bool *out_repaired) {
    *out_repaired = false;
    if (!fsck->options->repair_from) return NULL;
    ByteWriter OWN_BYTES(stored) = {0};
    Error *error = fetch_from(fsck->options->repair_from, ref, &stored);
    if (error_code(error) == ERROR_OUT_OF_MEMORY) return error;
    if (error) {
        /* the other copy lacks the chunk or is damaged, too: the error of the chunk here is
         * reported */
        error_free(error);
        return NULL;
    }
    error = replace(fsck->store, tenant, ref, &stored);
    if (error) return fsck_note(fsck, error_wrap(error, "repair"));
    fsck->result->repaired++;
    *out_repaired = true;
    return NULL;
}

static Error *find_raw_size(
    Store *store, TenantId tenant, const ChunkRef *ref, bool *out_found, uint64_t *out_size) {
    OWN(Connection, reader) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CHUNKS, &reader));
    int64_t id;
    {
        Query OWN_QUERY(query) = query_start(reader, STATEMENT_FIND_CHUNK);
        query_bind_i64(&query, 1, tenant);
        query_bind_digest(&query, 2, &ref->hash);
        TRY(query_find_i64(&query, out_found, &id));
    }
    if (!*out_found) return NULL;
    Query OWN_QUERY(query) = query_start(reader, STATEMENT_READ_CHUNK_SIZES);
    query_bind_i64(&query, 1, id);
    TRY(query_next(&query, out_found));
    return *out_found ? query_size(&query, 0, out_size) : NULL;
}

Error *fsck_check_present(Fsck *fsck, TenantId tenant, const ChunkRef *ref, const char *needed_by) {
    bool found, repaired = false;
    uint64_t raw_size = 0;
    TRY_WRAP(find_raw_size(fsck->store, tenant, ref, &found, &raw_size), "%s", needed_by);
    if (found && raw_size == ref->raw_size) return NULL;
    TRY(fsck_repair_chunk(fsck, tenant, ref, &repaired));
    if (repaired) return NULL;
    char name[DIGEST_TEXT_SIZE];
    digest_print(&ref->hash, name);
    return fsck_note(fsck, error_make(ERROR_CORRUPT, __FILE__, __LINE__, "%s: chunk %s %s",
                               needed_by, name, found ? "has another size" : "is missing"));
}

static Error *count_chunks(Store *store, uint64_t *out_count) {
    OWN(Connection, reader) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CHUNKS, &reader));
    Query OWN_QUERY(query) = query_start(reader, STATEMENT_COUNT_CHUNKS);
    bool row;
    TRY(query_next(&query, &row));
    return query_size(&query, 0, out_count);
}

static Error *read_list(Connection *reader, Batch *batch) {
    Query OWN_QUERY(query) = query_start(reader, STATEMENT_LIST_CHUNKS);
    query_bind_i64(&query, 1, batch->last_tenant);
    query_bind_digest(&query, 2, &batch->last_hash);
    query_bind_i64(&query, 3, BATCH_CHUNKS);
    batch->count = 0;
    for (;;) {
        bool row;
        TRY(query_next(&query, &row));
        if (!row) return NULL;
        CheckedChunk *chunk = &batch->chunks[batch->count];
        *chunk = (CheckedChunk){0};
        TRY(query_i64(&query, 0, &chunk->tenant));
        TRY(query_digest(&query, 1, &chunk->ref.hash));
        TRY(query_i64(&query, 2, &chunk->id));
        batch->last_tenant = chunk->tenant;
        batch->last_hash = chunk->ref.hash;
        batch->count++;
    }
}

/* NOT_FOUND: gc deleted the row, or the index entry points nowhere. */
static Error *read_sizes(Connection *reader, CheckedChunk *chunk) {
    Query OWN_QUERY(query) = query_start(reader, STATEMENT_READ_CHUNK_SIZES);
    query_bind_i64(&query, 1, chunk->id);
    bool row;
    uint64_t raw_size;
    TRY(query_next(&query, &row));
    if (!row) FAIL(NOT_FOUND, "its row is gone");
    TRY(query_size(&query, 0, &raw_size));
    TRY(query_size(&query, 1, &chunk->stored_size));
    if (raw_size < 1 || raw_size > CHUNK_SIZE)
        FAIL(CORRUPT, "its size of %llu bytes is impossible", (unsigned long long)raw_size);
    chunk->ref.raw_size = (uint32_t)raw_size;
    return NULL;
}

static Error *read_batch(Store *store, Batch *batch) {
    OWN(Connection, reader) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CHUNKS, &reader));
    TRY(read_list(reader, batch));
    for (size_t i = 0; i < batch->count; i++)
        batch->chunks[i].error = read_sizes(reader, &batch->chunks[i]);
    return NULL;
}

static Error *check_one(void *context, size_t index) {
    Share *share = context;
    CheckedChunk *chunk = &share->chunks[index];
    if (!chunk->error) chunk->error = read_and_decode(share->source, &chunk->ref);
    return NULL;
}

/* A batch is sorted by tenant, and a reader reads one tenant's chunks. */
static Error *check_batch(Fsck *fsck, Batch *batch) {
    for (size_t begin = 0, end; begin < batch->count; begin = end) {
        TenantId tenant = batch->chunks[begin].tenant;
        for (end = begin; end < batch->count && batch->chunks[end].tenant == tenant;) end++;
        OWN(ChunkReader, reader) = NULL;
        TRY(chunk_reader_open(fsck->store, tenant, &reader));
        Share share = {chunk_reader_source(reader), batch->chunks + begin};
        TRY(worker_pool_for_each(fsck->options->pool, end - begin, check_one, &share));
    }
    return NULL;
}

static Error *is_orphan(Connection *catalog, const CheckedChunk *chunk, bool *out) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_REFERENCE);
    query_bind_i64(&query, 1, chunk->tenant);
    query_bind_digest(&query, 2, &chunk->ref.hash);
    int64_t one;
    bool found;
    TRY(query_find_i64(&query, &found, &one));
    *out = !found;
    return NULL;
}

static Error *report_damage(Fsck *fsck, CheckedChunk *chunk, bool orphan) {
    bool repaired = false;
    if (chunk->ref.raw_size > 0 && error_code(chunk->error) != ERROR_OUT_OF_MEMORY)
        TRY(fsck_repair_chunk(fsck, chunk->tenant, &chunk->ref, &repaired));
    if (repaired) return NULL;
    char name[DIGEST_TEXT_SIZE];
    digest_print(&chunk->ref.hash, name);
    return fsck_note(fsck, error_wrap(TAKE(chunk->error), "chunk %s%s", name,
                               orphan ? ", which nobody refers to (gc deletes it)" : ""));
}

static Error *report(Fsck *fsck, Connection *catalog, CheckedChunk *chunk) {
    if (error_code(chunk->error) == ERROR_NOT_FOUND) return NULL; /* gc was here */
    FsckResult *result = fsck->result;
    bool orphan;
    TRY(is_orphan(catalog, chunk, &orphan));
    result->chunks++;
    result->bytes += chunk->stored_size;
    result->orphan_chunks += orphan;
    result->orphan_bytes += orphan ? chunk->stored_size : 0;
    return chunk->error ? report_damage(fsck, chunk, orphan) : NULL;
}

static Error *report_batch(Fsck *fsck, Batch *batch) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(fsck->store, DATABASE_CATALOG, &catalog));
    for (size_t i = 0; i < batch->count; i++) TRY(report(fsck, catalog, &batch->chunks[i]));
    return NULL;
}

static void free_errors(Batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        error_free(batch->chunks[i].error);
        batch->chunks[i].error = NULL;
    }
}

static Error *check_all(Fsck *fsck, Batch *batch, uint64_t total) {
    const FsckOptions *options = fsck->options;
    uint64_t done = 0;
    do {
        TRY(read_batch(fsck->store, batch));
        Error *error = check_batch(fsck, batch);
        if (!error) error = report_batch(fsck, batch);
        free_errors(batch);
        TRY(error);
        done += batch->count;
        if (options->progress)
            options->progress(options->progress_context, done, total < done ? done : total);
    } while (batch->count == BATCH_CHUNKS);
    return NULL;
}

Error *fsck_check_chunks(Fsck *fsck) {
    Batch *batch;
    uint64_t total;
    Error *error = count_chunks(fsck->store, &total);
    if (error) return fsck_note(fsck, error);
    TRY(memory_alloc(1, sizeof *batch, (void **)&batch));
    batch->last_tenant = INT64_MIN;
    error = check_all(fsck, batch, total);
    memory_free(batch);
    return error ? fsck_note(fsck, error) : NULL;
}
