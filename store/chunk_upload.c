#include "store/chunk_upload.h"

#include <string.h>

#include "base/allocator.h"
#include "store/chunk_upload_internal.h"
#include "store/transaction.h"

/* A transaction is written when it holds this much. */
enum { PENDING_BYTES_MAX = 32 << 20, PENDING_CHUNKS_MAX = 4096 };

/* What the pins remember of a chunk. */
static uint64_t pack_sizes(uint32_t raw_size, uint64_t stored_size) {
    return (uint64_t)raw_size << 32 | stored_size;
}

static Error *check_raw_size(const ChunkRef *ref, uint64_t sizes) {
    if (sizes >> 32 == ref->raw_size) return NULL;
    char name[DIGEST_TEXT_SIZE];
    digest_print(&ref->hash, name);
    FAIL(CORRUPT, "chunk %s is said to be of %u bytes here and of %u there", name, ref->raw_size,
        (uint32_t)(sizes >> 32));
}

Error *chunk_upload_open(Store *store, TenantId tenant, ChunkUpload **out_upload) {
    ChunkUpload *upload;
    TRY(memory_alloc(1, sizeof *upload, (void **)&upload));
    upload->store = store;
    upload->tenant = tenant;
    *out_upload = upload;
    return NULL;
}

/* With its first chunk gc is to see it; many have none and never ask for the lock. */
static Transaction lock_and_list(ChunkUpload *upload) {
    Transaction lock = transaction_lock(upload->store, DATABASE_CHUNKS);
    if (!upload->listed) {
        upload->next = upload->store->uploads;
        upload->store->uploads = upload;
        upload->listed = true;
    }
    return lock;
}

static void unlist(ChunkUpload *upload) {
    Transaction OWN_TRANSACTION(lock) = transaction_lock(upload->store, DATABASE_CHUNKS);
    ChunkUpload **at = &upload->store->uploads;
    while (*at != upload) at = &(*at)->next;
    *at = upload->next;
    /* The page cache of the last transaction, which may be 32 MiB. */
    (void)sqlite3_db_release_memory(lock.connection->handle);
}

void chunk_upload_close(ChunkUpload *upload) {
    if (!upload) return;
    if (upload->listed) unlist(upload);
    digest_set_deinit(&upload->pins);
    byte_writer_deinit(&upload->pending_bytes);
    memory_free(upload->pending);
    memory_free(upload);
}

/* Asks the store for one chunk and pins it, under the chunks' writer so that gc can't come between.
 */
static Error *find_and_pin(
    ChunkUpload *upload, Connection *connection, const ChunkRef *ref, bool *out_found) {
    bool found;
    int64_t id;
    {
        Query OWN_QUERY(query) = query_start(connection, STATEMENT_FIND_CHUNK);
        query_bind_i64(&query, 1, upload->tenant);
        query_bind_digest(&query, 2, &ref->hash);
        TRY(query_find_i64(&query, &found, &id));
    }
    if (found) {
        Query OWN_QUERY(query) = query_start(connection, STATEMENT_READ_CHUNK_SIZES);
        query_bind_i64(&query, 1, id);
        uint64_t raw_size = 0, stored_size = 0;
        TRY(query_next(&query, &found));
        if (found) TRY(query_size(&query, 0, &raw_size));
        if (found) TRY(query_size(&query, 1, &stored_size));
        if (raw_size > CHUNK_SIZE || stored_size > CHUNK_STORED_SIZE_MAX)
            FAIL(CORRUPT, "chunks.db: a chunk of %llu bytes; run fsck",
                (unsigned long long)raw_size);
        uint64_t sizes = pack_sizes((uint32_t)raw_size, stored_size);
        TRY(check_raw_size(ref, sizes));
        TRY(digest_set_add(&upload->pins, &ref->hash, sizes));
    }
    *out_found = found;
    return NULL;
}

static Error *sink_find(void *self, const ChunkRef *ref, bool *out_found) {
    ChunkUpload *upload = self;
    Transaction OWN_TRANSACTION(lock) = lock_and_list(upload);
    uint64_t sizes = digest_set_find(&upload->pins, &ref->hash);
    if (sizes) {
        TRY(check_raw_size(ref, sizes));
        *out_found = true;
        return NULL;
    }
    return find_and_pin(upload, lock.connection, ref, out_found);
}

Error *chunk_upload_pin(ChunkUpload *upload, const ChunkRef *ref, uint32_t *out_stored_size) {
    bool found;
    TRY(sink_find(upload, ref, &found));
    if (!found) {
        char name[DIGEST_TEXT_SIZE];
        digest_print(&ref->hash, name);
        FAIL(CORRUPT, "chunk %s is neither in the store nor among what came with its executable",
            name);
    }
    *out_stored_size = (uint32_t)digest_set_find(&upload->pins, &ref->hash);
    return NULL;
}

static Error *insert_pending(ChunkUpload *upload, Connection *connection) {
    for (size_t i = 0; i < upload->pending_count; i++) {
        const PendingChunk *chunk = &upload->pending[i];
        Query OWN_QUERY(query) = query_start(connection, STATEMENT_INSERT_CHUNK);
        query_bind_i64(&query, 1, upload->tenant);
        query_bind_digest(&query, 2, &chunk->ref.hash);
        query_bind_i64(&query, 3, chunk->ref.raw_size);
        query_bind_blob(&query, 4, upload->pending_bytes.data + chunk->offset, chunk->stored_size);
        TRY(query_run(&query));
    }
    return NULL;
}

static Error *write_pending(ChunkUpload *upload) {
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(upload->store, DATABASE_CHUNKS, &transaction));
    TRY(insert_pending(upload, transaction.connection));
    return transaction_commit(&transaction);
}

Error *chunk_upload_flush(ChunkUpload *upload) {
    if (upload->failed) FAIL(CONFLICT, "this upload failed before; begin a new one");
    if (upload->pending_count == 0) return NULL;
    Error *error = write_pending(upload);
    upload->failed = error != NULL;
    upload->pending_count = 0;
    upload->pending_bytes.size = 0;
    return error;
}

static Error *keep_pending(
    ChunkUpload *upload, const ChunkRef *ref, const void *stored, size_t stored_size) {
    TRY(memory_grow((void **)&upload->pending, upload->pending_count, &upload->pending_capacity,
        sizeof *upload->pending));
    size_t offset = upload->pending_bytes.size;
    byte_write_bytes(&upload->pending_bytes, stored, stored_size);
    TRY(byte_writer_check(&upload->pending_bytes));
    {
        Transaction OWN_TRANSACTION(lock) = lock_and_list(upload);
        TRY(digest_set_add(&upload->pins, &ref->hash, pack_sizes(ref->raw_size, stored_size)));
    }
    upload->pending[upload->pending_count++] = (PendingChunk){*ref, offset, stored_size};
    return NULL;
}

static Error *sink_put(void *self, const ChunkRef *ref, const void *stored, size_t stored_size) {
    ChunkUpload *upload = self;
    if (upload->failed) FAIL(CONFLICT, "this upload failed before; begin a new one");
    if (ref->raw_size < 1 || ref->raw_size > CHUNK_SIZE || stored_size < 1 ||
        stored_size > CHUNK_STORED_SIZE_MAX)
        FAIL(INVALID, "a chunk of %u bytes, %zu stored, is beyond the limits", ref->raw_size,
            stored_size);
    if (upload->pending_bytes.size + stored_size > PENDING_BYTES_MAX ||
        upload->pending_count == PENDING_CHUNKS_MAX)
        TRY(chunk_upload_flush(upload));
    Error *error = keep_pending(upload, ref, stored, stored_size);
    if (error) upload->failed = true;
    return error;
}

ChunkSink chunk_upload_sink(ChunkUpload *upload) {
    return (ChunkSink){sink_find, sink_put, upload};
}
