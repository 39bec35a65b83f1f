#include "store/chunks/chunk_reader.h"

#include <string.h>

#include "base/allocator.h"
#include "store/database/store_connections_internal.h"

/* A connection with a blob handle to move from chunk to chunk (sqlite3_blob_reopen). */
typedef struct ReaderSlot {
    Connection *connection;
    sqlite3_blob *blob; /* NULL until the first chunk; holds a read transaction */
    struct ReaderSlot *next;
} ReaderSlot;

struct ChunkReader {
    Store *store;
    TenantId tenant;
    pthread_mutex_t mutex;
    /* guarded by mutex; at most one slot for each thread that read at the same time */
    ReaderSlot *idle;
};

static void close_slot(ReaderSlot *slot) {
    (void)sqlite3_blob_close(slot->blob);
    store_return_reader(slot->connection);
    memory_free(slot);
}

static Error *take_slot(ChunkReader *reader, ReaderSlot **out_slot) {
    (void)pthread_mutex_lock(&reader->mutex);
    ReaderSlot *slot = reader->idle;
    if (slot) reader->idle = slot->next;
    (void)pthread_mutex_unlock(&reader->mutex);
    if (!slot) {
        TRY(memory_alloc(1, sizeof *slot, (void **)&slot));
        Error *error = store_borrow_reader(reader->store, DATABASE_CHUNKS, &slot->connection);
        if (error) {
            memory_free(slot);
            return error;
        }
    }
    *out_slot = slot;
    return NULL;
}

static void give_slot(ChunkReader *reader, ReaderSlot *slot) {
    (void)pthread_mutex_lock(&reader->mutex);
    slot->next = reader->idle;
    reader->idle = slot;
    (void)pthread_mutex_unlock(&reader->mutex);
}

static Error *find_row(
    Connection *connection, TenantId tenant, const Digest *hash, bool *out_found, int64_t *out_id) {
    Query OWN_QUERY(query) = query_start(connection, STATEMENT_FIND_CHUNK);
    query_bind_i64(&query, 1, tenant);
    query_bind_digest(&query, 2, hash);
    return query_find_i64(&query, out_found, out_id);
}

static void drop_blob(ReaderSlot *slot) {
    /* the read or write that failed has returned the error already */
    (void)sqlite3_blob_close(slot->blob);
    slot->blob = NULL;
}

static Error *fail_missing(const ChunkRef *ref) {
    char name[DIGEST_TEXT_SIZE];
    digest_print(&ref->hash, name);
    FAIL(NOT_FOUND, "chunk %s is not in the store", name);
}

static Error *open_blob(ReaderSlot *slot, const ChunkRef *ref, int64_t id) {
    int code = slot->blob ? sqlite3_blob_reopen(slot->blob, id)
                          : sqlite3_blob_open(slot->connection->handle, "main", "chunks", "stored",
                                id, 0, &slot->blob);
    if (code == SQLITE_OK) return NULL;
    /* SQLITE_ERROR: no such row any more, gc was faster. */
    Error *error =
        code == SQLITE_ERROR ? fail_missing(ref) : connection_error(slot->connection, code);
    drop_blob(slot);
    return error;
}

static Error *measure_blob(const ReaderSlot *slot, size_t *out_size) {
    size_t size = (size_t)sqlite3_blob_bytes(slot->blob);
    if (size < 1 || size > CHUNK_STORED_SIZE_MAX)
        FAIL(CORRUPT, "chunks.db: a chunk of %zu bytes", size);
    *out_size = size;
    return NULL;
}

static Error *read_blob(ReaderSlot *slot, ByteWriter *inout_stored) {
    size_t size;
    TRY(measure_blob(slot, &size));
    if (inout_stored->capacity < size) {
        TRY(memory_resize((void **)&inout_stored->data, size, 1));
        inout_stored->capacity = size;
    }
    int code = sqlite3_blob_read(slot->blob, inout_stored->data, (int)size, 0);
    if (code != SQLITE_OK) return connection_error(slot->connection, code);
    inout_stored->size = size;
    return NULL;
}

static Error *find_blob(ChunkReader *reader, ReaderSlot *slot, const ChunkRef *ref) {
    bool found;
    int64_t id;
    TRY(find_row(slot->connection, reader->tenant, &ref->hash, &found, &id));
    if (!found && slot->blob) {
        /* The open blob keeps its transaction's view of the database; the chunk may be newer. */
        drop_blob(slot);
        TRY(find_row(slot->connection, reader->tenant, &ref->hash, &found, &id));
    }
    if (!found) return fail_missing(ref);
    return open_blob(slot, ref, id);
}

static Error *get_through(
    ChunkReader *reader, ReaderSlot *slot, const ChunkRef *ref, ByteWriter *inout_stored) {
    TRY(find_blob(reader, slot, ref));
    return read_blob(slot, inout_stored);
}

Error *chunk_reader_measure(ChunkReader *reader, const ChunkRef *ref, size_t *out_stored_size) {
    ReaderSlot *slot;
    TRY(take_slot(reader, &slot));
    Error *error = find_blob(reader, slot, ref);
    if (!error) error = measure_blob(slot, out_stored_size);
    if (error) drop_blob(slot);
    give_slot(reader, slot);
    return error;
}

static Error *source_get(void *self, const ChunkRef *ref, ByteWriter *inout_stored) {
    ChunkReader *reader = self;
    ReaderSlot *slot;
    TRY(take_slot(reader, &slot));
    Error *error = get_through(reader, slot, ref, inout_stored);
    if (error) drop_blob(slot);
    give_slot(reader, slot);
    return error;
}

Error *chunk_reader_open(Store *store, TenantId tenant, ChunkReader **out_reader) {
    ChunkReader *reader;
    TRY(memory_alloc(1, sizeof *reader, (void **)&reader));
    reader->store = store;
    reader->tenant = tenant;
    (void)pthread_mutex_init(&reader->mutex, NULL);
    *out_reader = reader;
    return NULL;
}

ChunkSource chunk_reader_source(ChunkReader *reader) { return (ChunkSource){source_get, reader}; }

void chunk_reader_close(ChunkReader *reader) {
    if (!reader) return;
    ReaderSlot *next;
    for (ReaderSlot *slot = reader->idle; slot; slot = next) {
        next = slot->next;
        close_slot(slot);
    }
    (void)pthread_mutex_destroy(&reader->mutex);
    memory_free(reader);
}
