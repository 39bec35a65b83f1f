#include "store/models/stored_executable.h"

#include <string.h>

#include "base/allocator.h"
#include "store/chunks/chunk_reader.h"
#include "store/database/removal_steps.h"
#include "store/models/stored_executable_internal.h"
#include "store/accounts/tenants_internal.h"
#include "store/database/transaction.h"

enum { UNUSED_BATCH = 64 };

/* Protects the row: removals leave a pinned executable alone. */
static Error *pin(StoredExecutable *executable, TenantId tenant, const Digest *identity) {
    Transaction OWN_TRANSACTION(lock) = transaction_lock(executable->store, DATABASE_CATALOG);
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(executable->store, DATABASE_CATALOG, &catalog));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_EXECUTABLE);
    query_bind_i64(&query, 1, tenant);
    query_bind_digest(&query, 2, identity);
    bool found;
    TRY(query_find_i64(&query, &found, &executable->id));
    if (!found) {
        char name[DIGEST_TEXT_SIZE];
        digest_print(identity, name);
        FAIL(NOT_FOUND, "executable %s is not in the store; register or import its model", name);
    }
    executable->next = executable->store->open_executables;
    executable->store->open_executables = executable;
    return NULL;
}

static void unpin(StoredExecutable *executable) {
    Transaction OWN_TRANSACTION(lock) = transaction_lock(executable->store, DATABASE_CATALOG);
    for (StoredExecutable **at = &executable->store->open_executables; *at; at = &(*at)->next)
        if (*at == executable) {
            *at = executable->next;
            return;
        }
}

static Error *read_row(StoredExecutable *executable, Connection *catalog, uint64_t *out_count) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_EXECUTABLE);
    query_bind_i64(&query, 1, executable->id);
    bool row;
    TRY(query_next(&query, &row));
    if (!row) FAIL(CORRUPT, "catalog.db: an executable's row is gone; run fsck");
    Digest expected, digest;
    const uint8_t *manifest;
    size_t size;
    TRY(query_size(&query, 0, out_count));
    TRY(query_digest(&query, 1, &expected));
    TRY(query_blob(&query, 2, &manifest, &size));
    TRY(digest_sha256(manifest, size, &digest));
    if (!digest_equal(&digest, &expected))
        FAIL(CORRUPT, "catalog.db: the manifest's bytes have changed; register or import it again");
    byte_write_bytes(&executable->manifest, manifest, size);
    return byte_writer_check(&executable->manifest);
}

static Error *read_chunk_ref(const Query *query, ChunkRef *out_ref) {
    uint64_t raw_size;
    TRY(query_digest(query, 0, &out_ref->hash));
    TRY(query_size(query, 1, &raw_size));
    if (raw_size < 1 || raw_size > CHUNK_SIZE)
        FAIL(CORRUPT, "catalog.db: a chunk of %llu bytes; run fsck", (unsigned long long)raw_size);
    out_ref->raw_size = (uint32_t)raw_size;
    return NULL;
}

static Error *read_chunks(StoredExecutable *executable, Connection *catalog, uint64_t expected) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_EXECUTABLE_CHUNKS);
    query_bind_i64(&query, 1, executable->id);
    size_t capacity = 0;
    for (;;) {
        bool row;
        TRY(query_next(&query, &row));
        if (!row) break;
        TRY(memory_grow((void **)&executable->chunks, executable->chunk_count, &capacity,
            sizeof *executable->chunks));
        TRY(read_chunk_ref(&query, &executable->chunks[executable->chunk_count]));
        executable->chunk_count++;
    }
    if (executable->chunk_count != expected)
        FAIL(CORRUPT, "catalog.db: %zu references to chunks where %llu should be; run fsck",
            executable->chunk_count, (unsigned long long)expected);
    return NULL;
}

static Error *read_pinned(StoredExecutable *executable, TenantId tenant) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(executable->store, DATABASE_CATALOG, &catalog));
    uint64_t chunk_count;
    TRY(read_row(executable, catalog, &chunk_count));
    TRY(read_chunks(executable, catalog, chunk_count));
    return chunk_reader_open(executable->store, tenant, &executable->reader);
}

Error *stored_executable_open(
    Store *store, TenantId tenant, const Digest *identity, StoredExecutable **out_executable) {
    OWN(StoredExecutable, executable) = NULL;
    TRY(memory_alloc(1, sizeof *executable, (void **)&executable));
    executable->store = store;
    TRY(pin(executable, tenant, identity));
    char name[DIGEST_TEXT_SIZE];
    digest_print(identity, name);
    TRY_WRAP(read_pinned(executable, tenant), "executable %s", name);
    *out_executable = TAKE(executable);
    return NULL;
}

void stored_executable_close(StoredExecutable *executable) {
    if (!executable) return;
    chunk_reader_close(executable->reader);
    unpin(executable);
    byte_writer_deinit(&executable->manifest);
    memory_free(executable->chunks);
    memory_free(executable);
}

Error *stored_executable_next(
    Store *store, TenantId *inout_tenant, Digest *inout_identity, bool *out_found) {
    OWN(Connection, reader) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &reader));
    Query OWN_QUERY(query) = query_start(reader, STATEMENT_LIST_EXECUTABLES);
    query_bind_i64(&query, 1, *inout_tenant);
    query_bind_digest(&query, 2, inout_identity);
    TRY(query_next(&query, out_found));
    if (!*out_found) return NULL;
    TRY(query_i64(&query, 0, inout_tenant));
    return query_digest(&query, 1, inout_identity);
}

const uint8_t *stored_executable_manifest(const StoredExecutable *executable, size_t *out_size) {
    *out_size = executable->manifest.size;
    return executable->manifest.data;
}

const ChunkRef *stored_executable_chunks(const StoredExecutable *executable, size_t *out_count) {
    *out_count = executable->chunk_count;
    return executable->chunks;
}

ChunkSource stored_executable_source(StoredExecutable *executable) {
    return chunk_reader_source(executable->reader);
}

static bool is_open(const Store *store, int64_t id) {
    for (const StoredExecutable *at = store->open_executables; at; at = at->next)
        if (at->id == id) return true;
    return false;
}

static Error *delete_one(Connection *catalog, TenantId tenant, int64_t id) {
    int64_t bytes_stored;
    bool found;
    {
        Query OWN_QUERY(query) = query_start(catalog, STATEMENT_DELETE_EXECUTABLE);
        query_bind_i64(&query, 1, id);
        TRY(query_next(&query, &found));
        bytes_stored = found ? query_any_i64(&query, 0, 0) : 0; /* fsck counts anew */
        if (found) TRY(query_run(&query));
    }
    return bytes_stored > 0 ? tenants_discharge(catalog, tenant, (uint64_t)bytes_stored) : NULL;
}

typedef struct UnusedExecutable {
    int64_t id;
    uint64_t rows; /* about the number of rows that are deleted with the executable */
} UnusedExecutable;

/* Lists some unused executables behind `after`. They are collected first, since deleting under a
 * running list lets SQLite skip rows. */
static Error *list_unused(Connection *catalog, TenantId tenant, Digest *inout_after,
    UnusedExecutable *out_unused, size_t *out_count) {
    Digest after = *inout_after;
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LIST_UNUSED_EXECUTABLES);
    query_bind_i64(&query, 1, tenant);
    query_bind_digest(&query, 2, inout_after);
    query_bind_i64(&query, 3, UNUSED_BATCH);
    for (size_t count = 0;; count++) {
        bool row;
        TRY(query_next(&query, &row));
        if (!row) {
            *out_count = count;
            *inout_after = after;
            return NULL;
        }
        TRY(query_i64(&query, 0, &out_unused[count].id));
        TRY(query_digest(&query, 1, &after));
        const int64_t rows = query_any_i64(&query, 2, 0);
        out_unused[count].rows = rows > 0 ? (uint64_t)rows + 1 : 1;
    }
}

Error *stored_executable_delete_unused(
    Store *store, Connection *catalog, TenantId tenant, uint64_t *inout_count, bool *out_whole) {
    UnusedExecutable unused[UNUSED_BATCH];
    size_t count;
    uint64_t rows = 0;
    Digest after = {{0}};
    *out_whole = false;
    do {
        TRY(list_unused(catalog, tenant, &after, unused, &count));
        for (size_t i = 0; i < count; i++) {
            if (is_open(store, unused[i].id)) continue;
            if (rows >= REMOVAL_STEP_ROWS) return NULL;
            TRY(delete_one(catalog, tenant, unused[i].id));
            rows += unused[i].rows;
            (*inout_count)++;
        }
    } while (count == UNUSED_BATCH);
    *out_whole = true;
    return NULL;
}
