#include "store/chunks/chunk_drop.h"

#include "store/chunks/chunk_pins.h"
#include "store/database/recent_chunks.h"
#include "store/database/store_connections_internal.h"
#include "store/database/transaction.h"

/* Chunks in one transaction of chunk_drop. Uploads wait during the transaction. */
enum { BATCH_CHUNKS = 16 };

static bool is_pinned(const Store *store, const SweptChunk *chunk) {
    for (const ChunkPins *pins = store->pins; pins; pins = pins->next)
        if (pins->tenant == chunk->tenant && digest_set_find(&pins->digests, &chunk->hash))
            return true;
    return false;
}

static Error *is_referred_to(Connection *catalog, const SweptChunk *chunk, bool *out) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_REFERENCE);
    query_bind_i64(&query, 1, chunk->tenant);
    query_bind_digest(&query, 2, &chunk->hash);
    int64_t one;
    return query_find_i64(&query, out, &one);
}

static Error *delete_chunk(Connection *chunks, int64_t id, ChunkDropResult *inout_result) {
    bool row;
    uint64_t stored_size = 0;
    {
        Query OWN_QUERY(query) = query_start(chunks, STATEMENT_READ_CHUNK_SIZES);
        query_bind_i64(&query, 1, id);
        TRY(query_next(&query, &row));
        if (row) TRY(query_size(&query, 1, &stored_size));
    }
    Query OWN_QUERY(query) = query_start(chunks, STATEMENT_DELETE_CHUNK);
    query_bind_i64(&query, 1, id);
    TRY(query_run(&query));
    inout_result->chunks++;
    inout_result->bytes += stored_size;
    return NULL;
}

Error *chunk_drop_unneeded(Store *store, Connection *catalog, Connection *chunks,
    const SweptChunk *swept, size_t count, ChunkDropResult *inout_result) {
    for (size_t i = 0; i < count; i++) {
        bool keep = is_pinned(store, &swept[i]);
        if (!keep) TRY(is_referred_to(catalog, &swept[i], &keep));
        if (keep) continue;
        recent_chunks_forget(store->recent_chunks, swept[i].tenant, &swept[i].hash);
        TRY(delete_chunk(chunks, swept[i].id, inout_result));
    }
    return NULL;
}

static Error *find_chunk(Connection *chunks, SweptChunk *chunk, bool *out_found) {
    Query OWN_QUERY(query) = query_start(chunks, STATEMENT_FIND_CHUNK);
    query_bind_i64(&query, 1, chunk->tenant);
    query_bind_digest(&query, 2, &chunk->hash);
    return query_find_i64(&query, out_found, &chunk->id);
}

static Error *drop_some(
    Store *store, Connection *catalog, TenantId tenant, const Digest *hashes, size_t count) {
    SweptChunk swept[BATCH_CHUNKS];
    size_t swept_count = 0;
    ChunkDropResult deleted = {0};
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(store, DATABASE_CHUNKS, &transaction));
    transaction.frees = true;
    for (size_t i = 0; i < count; i++) {
        bool found;
        SweptChunk *chunk = &swept[swept_count];
        *chunk = (SweptChunk){.tenant = tenant, .hash = hashes[i]};
        TRY(find_chunk(transaction.connection, chunk, &found));
        swept_count += found;
    }
    TRY(chunk_drop_unneeded(store, catalog, transaction.connection, swept, swept_count, &deleted));
    return transaction_commit(&transaction);
}

Error *chunk_drop(Store *store, TenantId tenant, const Digest *hashes, size_t count) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    for (size_t first = 0; first < count; first += BATCH_CHUNKS) {
        const size_t left = count - first;
        (void)pthread_rwlock_wrlock(&store->sweeping);
        Error *error = drop_some(
            store, catalog, tenant, &hashes[first], left < BATCH_CHUNKS ? left : BATCH_CHUNKS);
        (void)pthread_rwlock_unlock(&store->sweeping);
        TRY(error);
    }
    return NULL;
}
