#include "store/chunks/chunk_upload.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/thread.h"
#include "store/chunks/chunk_drop.h"
#include "store/database/recent_chunks.h"
#include "store/chunks/chunk_upload_internal.h"
#include "store/database/transaction.h"

/* The pending chunks are written when they have reached one of these limits. The limit is small
 * since first writes to fresh memory are slow (a quarter of an upload with 32 MiB), and the last
 * chunks are written when no others are encoded any more. */
enum { PENDING_BYTES_MAX = 8 << 20, PENDING_CHUNKS_MAX = 4096 };

enum { WRITER_NICE = 10 };

/* A chunk's two sizes as the number that the pins keep for it. */
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
    upload->pins.tenant = tenant;
    *out_upload = upload;
    return NULL;
}

/* Lists the upload for gc at its first chunk. Many uploads never have a chunk. */
static void list(ChunkUpload *upload) {
    Store *store = upload->store;
    if (upload->listed) return;
    (void)pthread_mutex_lock(&store->pins_mutex);
    upload->pins.next = store->pins;
    store->pins = &upload->pins;
    upload->listed = true;
    (void)pthread_mutex_unlock(&store->pins_mutex);
}

/* gc holds the lock `sweeping` for writing, so no upload lists, pins or forgets chunks during a
 * sweep. */
static void begin_pinning(ChunkUpload *upload) {
    (void)pthread_rwlock_rdlock(&upload->store->sweeping);
    list(upload);
}

static void end_pinning(ChunkUpload *upload) {
    (void)pthread_rwlock_unlock(&upload->store->sweeping);
}

static void unlist(ChunkUpload *upload) {
    Store *store = upload->store;
    (void)pthread_rwlock_rdlock(&store->sweeping);
    (void)pthread_mutex_lock(&store->pins_mutex);
    ChunkPins **at = &store->pins;
    while (*at != &upload->pins) at = &(*at)->next;
    *at = upload->pins.next;
    (void)pthread_mutex_unlock(&store->pins_mutex);
    (void)pthread_rwlock_unlock(&store->sweeping);
}

/* The page cache of the last transactions, which may be 16 MiB. */
static void release_pages(ChunkUpload *upload) {
    Transaction OWN_TRANSACTION(lock) = transaction_lock(upload->store, DATABASE_CHUNKS);
    if (lock.connection) (void)sqlite3_db_release_memory(lock.connection->handle);
}

static void batch_deinit(ChunkBatch *batch) {
    byte_writer_deinit(&batch->bytes);
    memory_free(batch->chunks);
}

/* A chunk that the upload found may belong to a transaction that is not durable yet, of this upload
 * or another one. So the upload is durable only after the last commit. */
static void need_last_commit(ChunkUpload *upload) {
    upload->last_commit = transaction_last(upload->store, DATABASE_CHUNKS);
}

/* Waits for the transaction that is being written. */
static Error *end_writer(ChunkUpload *upload) {
    if (!upload->writer_runs) return NULL;
    (void)pthread_join(upload->writer, NULL);
    upload->writer_runs = false;
    need_last_commit(upload);
    return TAKE(upload->write_error);
}

void chunk_upload_limit(ChunkUpload *upload) {
    upload->limited = true;
    upload->charge = in_flight_begin(upload->store, upload->tenant);
}

void chunk_upload_keep(ChunkUpload *upload) {
    upload->kept = true;
    in_flight_end(&upload->charge); /* the rows are charged instead */
}

/* Deletes the new chunks of an upload that was not kept: until the next gc they would be on the
 * disk without being charged to a tenant. */
static void drop_brought(ChunkUpload *upload) {
    if (!upload->kept && upload->brought.size > 0)
        error_free(chunk_drop(upload->store, upload->tenant, (const Digest *)upload->brought.data,
            upload->brought.size / sizeof(Digest))); /* gc deletes the rest */
    in_flight_end(&upload->charge);
    byte_writer_deinit(&upload->brought);
}

void chunk_upload_close(ChunkUpload *upload) {
    if (!upload) return;
    /* a caller that needs the error has called chunk_upload_flush */
    error_free(end_writer(upload));
    if (upload->listed) unlist(upload);
    drop_brought(upload);
    if (upload->wrote) release_pages(upload);
    digest_set_deinit(&upload->pins.digests);
    batch_deinit(&upload->pending);
    batch_deinit(&upload->writing);
    memory_free(upload);
}

static Error *find_id(ChunkUpload *upload, Connection *connection, const ChunkRef *ref,
    bool *out_found, int64_t *out_id) {
    Query OWN_QUERY(query) = query_start(connection, STATEMENT_FIND_CHUNK);
    query_bind_i64(&query, 1, upload->tenant);
    query_bind_digest(&query, 2, &ref->hash);
    return query_find_i64(&query, out_found, out_id);
}

static Error *read_size(Connection *connection, int64_t id, ChunkSize *out) {
    Query OWN_QUERY(query) = query_start(connection, STATEMENT_READ_CHUNK_SIZES);
    uint64_t raw_size = 0, stored_size = 0;
    bool found;
    query_bind_i64(&query, 1, id);
    TRY(query_next(&query, &found));
    if (!found) FAIL(CORRUPT, "chunks.db: an index names a chunk that is not there; run fsck");
    TRY(query_size(&query, 0, &raw_size));
    TRY(query_size(&query, 1, &stored_size));
    if (raw_size > CHUNK_SIZE || stored_size > CHUNK_STORED_SIZE_MAX)
        FAIL(CORRUPT, "chunks.db: a chunk of %llu bytes; run fsck", (unsigned long long)raw_size);
    *out = (ChunkSize){(uint32_t)raw_size, (uint32_t)stored_size};
    return NULL;
}

static Error *pin(ChunkUpload *upload, const ChunkRef *ref, ChunkSize size) {
    uint64_t sizes = pack_sizes(size.raw, size.stored);
    TRY(check_raw_size(ref, sizes));
    need_last_commit(upload);
    return digest_set_add(&upload->pins.digests, &ref->hash, sizes);
}

/* Looks for one chunk and pins it, without a sweep of gc between the two. */
static Error *find_and_pin(
    ChunkUpload *upload, Connection *connection, const ChunkRef *ref, bool *out_found) {
    ChunkSize size = {0};
    int64_t id;
    TRY(find_id(upload, connection, ref, out_found, &id));
    if (!*out_found) return NULL;
    TRY(read_size(connection, id, &size));
    recent_chunks_note(upload->store->recent_chunks, upload->tenant, &ref->hash, size);
    return pin(upload, ref, size);
}

static Error *find_pinned(ChunkUpload *upload, const ChunkRef *ref, bool *out_found) {
    uint64_t sizes = digest_set_find(&upload->pins.digests, &ref->hash);
    *out_found = sizes != 0;
    return sizes ? check_raw_size(ref, sizes) : NULL;
}

static Error *find_recent(ChunkUpload *upload, const ChunkRef *ref, bool *out_found) {
    ChunkSize size;
    *out_found =
        recent_chunks_find(upload->store->recent_chunks, upload->tenant, &ref->hash, &size);
    return *out_found ? pin(upload, ref, size) : NULL;
}

static Error *find_stored(ChunkUpload *upload, Connection *reader, const ChunkRef *refs,
    size_t count, bool *inout_found) {
    for (size_t i = 0; i < count; i++)
        if (!inout_found[i]) TRY(find_and_pin(upload, reader, &refs[i], &inout_found[i]));
    return NULL;
}

/* Uses one read transaction: to begin and end one costs more than to find a chunk. */
static Error *find_some(ChunkUpload *upload, const ChunkRef *refs, size_t count, bool *out_found) {
    OWN(Connection, reader) = NULL;
    size_t pinned = 0;
    for (size_t i = 0; i < count; i++) {
        TRY(find_pinned(upload, &refs[i], &out_found[i]));
        if (!out_found[i]) TRY(find_recent(upload, &refs[i], &out_found[i]));
        pinned += out_found[i];
    }
    if (pinned == count) return NULL;
    TRY(store_borrow_reader(upload->store, DATABASE_CHUNKS, &reader));
    TRY(query_run_alone(reader, STATEMENT_BEGIN_READING));
    Error *error = find_stored(upload, reader, refs, count, out_found);
    Error *end_error = query_run_alone(reader, STATEMENT_END_READING);
    if (!error) return end_error;
    error_free(end_error);
    return error;
}

/* gc waits no longer than for that many. */
static Error *sink_find(void *self, const ChunkRef *refs, size_t count, bool *out_found) {
    ChunkUpload *upload = self;
    Error *error = NULL;
    for (size_t first = 0; first < count && !error; first += CHUNKS_FOUND_AT_ONCE) {
        size_t left = count - first;
        begin_pinning(upload);
        error = find_some(upload, &refs[first],
            left < CHUNKS_FOUND_AT_ONCE ? left : CHUNKS_FOUND_AT_ONCE, &out_found[first]);
        end_pinning(upload);
    }
    return error;
}

Error *chunk_upload_pin(ChunkUpload *upload, const ChunkRef *ref, uint32_t *out_stored_size) {
    bool found;
    TRY(sink_find(upload, ref, 1, &found));
    if (!found) {
        char name[DIGEST_TEXT_SIZE];
        digest_print(&ref->hash, name);
        FAIL(CORRUPT, "chunk %s is neither in the store nor among what came with its executable",
            name);
    }
    *out_stored_size = (uint32_t)digest_set_find(&upload->pins.digests, &ref->hash);
    return NULL;
}

static Error *insert_all(ChunkUpload *upload, ChunkBatch *batch, Connection *connection) {
    for (size_t i = 0; i < batch->count; i++) {
        PendingChunk *chunk = &batch->chunks[i];
        Query OWN_QUERY(query) = query_start(connection, STATEMENT_INSERT_CHUNK);
        query_bind_i64(&query, 1, upload->tenant);
        query_bind_digest(&query, 2, &chunk->ref.hash);
        query_bind_i64(&query, 3, chunk->ref.raw_size);
        query_bind_blob(&query, 4, batch->bytes.data + chunk->offset, chunk->stored_size);
        TRY(query_insert_new(&query, &chunk->is_new));
    }
    return NULL;
}

/* Notes the chunks that the transaction has added. Chunks that the store had before may have
 * another stored size. */
static void note_stored(ChunkUpload *upload, const ChunkBatch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        const PendingChunk *chunk = &batch->chunks[i];
        if (!chunk->is_new) continue;
        recent_chunks_note(upload->store->recent_chunks, upload->tenant, &chunk->ref.hash,
            (ChunkSize){chunk->ref.raw_size, (uint32_t)chunk->stored_size});
        /* without memory for the note, gc deletes the chunk later */
        if (upload->limited) byte_write_bytes(&upload->brought, &chunk->ref.hash, DIGEST_SIZE);
    }
}

typedef Error *Committing(Transaction *transaction);

static Error *write_transaction(ChunkUpload *upload, ChunkBatch *batch, Committing *commit) {
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(upload->store, DATABASE_CHUNKS, &transaction));
    TRY(insert_all(upload, batch, transaction.connection));
    TRY(commit(&transaction));
    note_stored(upload, batch);
    return NULL;
}

static Error *write_batch(ChunkUpload *upload, ChunkBatch *batch, Committing *commit) {
    Error *error = batch->count > 0 ? write_transaction(upload, batch, commit) : NULL;
    batch->count = 0;
    batch->bytes.size = 0;
    return error;
}

static void *run_writer(void *context) {
    ChunkUpload *upload = context;
    (void)pthread_setname_np(pthread_self(), "chunks");
    /* for this thread alone, which runs on a free core or gets a small share of a busy one */
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), WRITER_NICE);
    upload->write_error = write_batch(upload, &upload->writing, transaction_commit_unsynced);
    return NULL;
}

/* Starts to write the pending chunks; the next ones are collected at the same time. */
static Error *begin_writer(ChunkUpload *upload) {
    TRY(end_writer(upload));
    ChunkBatch full = upload->pending;
    upload->pending = upload->writing;
    upload->writing = full;
    upload->wrote = true;
    upload->writer_runs = thread_start(&upload->writer, "chunks", run_writer, upload);
    if (upload->writer_runs) return NULL;
    return write_batch(upload, &upload->writing, transaction_commit);
}

static Error *write_everything(ChunkUpload *upload) {
    TRY(end_writer(upload));
    upload->wrote |= upload->pending.count > 0;
    TRY(write_batch(upload, &upload->pending, transaction_commit));
    return transaction_sync(upload->store, DATABASE_CHUNKS, upload->last_commit);
}

Error *chunk_upload_flush(ChunkUpload *upload) {
    if (upload->failed) FAIL(CONFLICT, "this upload failed before; begin a new one");
    Error *error = write_everything(upload);
    upload->failed = error != NULL;
    if (!error) in_flight_settle(&upload->charge);
    return error;
}

static Error *keep_pending(
    ChunkUpload *upload, const ChunkRef *ref, const void *stored, size_t stored_size) {
    ChunkBatch *batch = &upload->pending;
    if (upload->limited) TRY(in_flight_add(&upload->charge, stored_size));
    TRY(memory_grow(
        (void **)&batch->chunks, batch->count, &batch->capacity, sizeof *batch->chunks));
    size_t offset = batch->bytes.size;
    byte_write_bytes(&batch->bytes, stored, stored_size);
    TRY(byte_writer_check(&batch->bytes));
    begin_pinning(upload);
    Error *error =
        digest_set_add(&upload->pins.digests, &ref->hash, pack_sizes(ref->raw_size, stored_size));
    end_pinning(upload);
    TRY(error);
    batch->chunks[batch->count++] =
        (PendingChunk){.ref = *ref, .offset = offset, .stored_size = stored_size};
    return NULL;
}

static Error *put(
    ChunkUpload *upload, const ChunkRef *ref, const void *stored, size_t stored_size) {
    const ChunkBatch *batch = &upload->pending;
    if (batch->bytes.size + stored_size > PENDING_BYTES_MAX || batch->count == PENDING_CHUNKS_MAX)
        TRY(begin_writer(upload));
    return keep_pending(upload, ref, stored, stored_size);
}

static Error *sink_put(void *self, const ChunkRef *ref, const void *stored, size_t stored_size) {
    ChunkUpload *upload = self;
    if (upload->failed) FAIL(CONFLICT, "this upload failed before; begin a new one");
    if (ref->raw_size < 1 || ref->raw_size > CHUNK_SIZE || stored_size < 1 ||
        stored_size > CHUNK_STORED_SIZE_MAX)
        FAIL(INVALID, "a chunk of %u bytes, %zu stored, is beyond the limits", ref->raw_size,
            stored_size);
    Error *error = put(upload, ref, stored, stored_size);
    upload->failed = error != NULL;
    return error;
}

ChunkSink chunk_upload_sink(ChunkUpload *upload) {
    return (ChunkSink){sink_find, sink_put, upload};
}
