#include "store/upkeep/gc.h"

#include <string.h>

#include "store/chunks/chunk_drop.h"
#include "store/chunks/chunk_lists.h"
#include "store/chunks/chunk_upload_internal.h"
#include "store/upkeep/removals.h"
#include "store/models/stored_executable_internal.h"
#include "store/database/transaction.h"
#include "store/weights/weight_folder.h"

/* Chunks in one transaction. Uploads wait during the transaction. On a full disk fewer chunks,
 * since a transaction then has no more room than the log. */
enum { BATCH_CHUNKS = 256, BATCH_CHUNKS_SHRINK = 16 };

/* Ids of lists of chunks in one transaction. Nothing is written to the catalog during the
 * transaction. */
enum { BATCH_LISTS = 1024, BATCH_LISTS_FULL = 16 };

/* The last chunk of the sweep so far, in the order of (tenant, hash). */
typedef struct Sweep {
    SweptChunk batch[BATCH_CHUNKS];
    size_t count, count_max;
    SweptChunk last;
} Sweep;

static Error *delete_some_executables(
    Store *store, TenantId tenant, GcResult *result, bool *out_whole) {
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(store, DATABASE_CATALOG, &transaction));
    transaction.frees = true;
    TRY(stored_executable_delete_unused(
        store, transaction.connection, tenant, &result->executables, out_whole));
    return transaction_commit(&transaction);
}

static Error *delete_executables(Store *store, const atomic_bool *stop, GcResult *result) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LIST_TENANTS);
    for (;;) {
        bool row;
        TenantId tenant;
        TRY(query_next(&query, &row));
        if (!row) return NULL;
        TRY(query_i64(&query, 0, &tenant));
        for (bool whole = false; !whole && !atomic_load(stop);)
            TRY(delete_some_executables(store, tenant, result, &whole));
    }
}

static Error *delete_lists_between(Store *store, int64_t first, int64_t last) {
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(store, DATABASE_CATALOG, &transaction));
    transaction.frees = true;
    TRY(chunk_lists_delete_unused(transaction.connection, first, last));
    return transaction_commit(&transaction);
}

static int64_t list_behind(int64_t first, int64_t count) {
    return first < INT64_MAX - count ? first + count : INT64_MAX;
}

static Error *delete_lists_from(Store *store, int64_t first, int64_t *out_last) {
    int64_t last = list_behind(first, BATCH_LISTS);
    Error *error = delete_lists_between(store, first, last);
    if (error_code(error) == ERROR_EXHAUSTED) {
        error_free(error); /* tries again in smaller steps */
        last = list_behind(first, BATCH_LISTS_FULL);
        error = delete_lists_between(store, first, last);
    }
    if (!error) *out_last = last;
    return error;
}

static Error *delete_lists(Store *store, const atomic_bool *stop) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    int64_t after = 0;
    while (!atomic_load(stop)) {
        bool found;
        int64_t first;
        TRY(chunk_lists_find_unused(catalog, after, &found, &first));
        if (!found) break;
        TRY(delete_lists_from(store, first, &after));
    }
    return NULL;
}

static Error *read_batch(Connection *chunks, Sweep *sweep) {
    Query OWN_QUERY(query) = query_start(chunks, STATEMENT_LIST_CHUNKS);
    query_bind_i64(&query, 1, sweep->last.tenant);
    query_bind_digest(&query, 2, &sweep->last.hash);
    query_bind_i64(&query, 3, (int64_t)sweep->count_max);
    sweep->count = 0;
    for (;;) {
        bool row;
        TRY(query_next(&query, &row));
        if (!row) break;
        SweptChunk *chunk = &sweep->batch[sweep->count];
        TRY(query_i64(&query, 0, &chunk->tenant));
        TRY(query_digest(&query, 1, &chunk->hash));
        TRY(query_i64(&query, 2, &chunk->id));
        sweep->count++;
    }
    if (sweep->count > 0) sweep->last = sweep->batch[sweep->count - 1];
    return NULL;
}

/* No upload looks for chunks between the check of the pins and the commit. An upload that closed
 * before has committed its rows, and the catalog is read only now. An open upload has its pins. A
 * later upload looks for its chunks after the commit, and does not find the deleted ones. */
static Error *sweep_alone(Store *store, Connection *catalog, Sweep *sweep, GcResult *result) {
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(store, DATABASE_CHUNKS, &transaction));
    transaction.frees = true;
    TRY(read_batch(transaction.connection, sweep));
    ChunkDropResult deleted = {0};
    TRY(chunk_drop_unneeded(
        store, catalog, transaction.connection, sweep->batch, sweep->count, &deleted));
    TRY(transaction_commit(&transaction));
    result->chunks += deleted.chunks;
    result->bytes += deleted.bytes;
    return NULL;
}

static Error *sweep_batch(Store *store, Connection *catalog, Sweep *sweep, GcResult *result) {
    const SweptChunk last = sweep->last;
    (void)pthread_rwlock_wrlock(&store->sweeping);
    Error *error = sweep_alone(store, catalog, sweep, result);
    (void)pthread_rwlock_unlock(&store->sweeping);
    if (error_code(error) != ERROR_EXHAUSTED || sweep->count_max == 1) return error;
    error_free(error); /* tries again from there in smaller steps */
    sweep->last = last;
    sweep->count = sweep->count_max /= BATCH_CHUNKS_SHRINK;
    return NULL;
}

static Error *sweep_chunks(Store *store, const atomic_bool *stop, GcResult *result) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Sweep sweep = {.last = {.tenant = INT64_MIN}, .count_max = BATCH_CHUNKS};
    do {
        TRY(sweep_batch(store, catalog, &sweep, result));
    } while (sweep.count == sweep.count_max && !atomic_load(stop));
    return NULL;
}

static Error *count_free_pages(Connection *chunks, int64_t *out_count) {
    Query OWN_QUERY(query) = query_start(chunks, STATEMENT_COUNT_FREE_PAGES);
    bool found;
    return query_find_i64(&query, &found, out_count);
}

static Error *give_back_pages(Store *store, StatementId how_many, int64_t *out_left) {
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(store, DATABASE_CHUNKS, &transaction));
    transaction.frees = true;
    TRY(query_run_alone(transaction.connection, how_many));
    TRY(count_free_pages(transaction.connection, out_left));
    return transaction_commit(&transaction);
}

/* Returns up to 16 MiB of free pages to the file system in one transaction; on a full disk 128
 * KiB. */
static Error *give_back_some(Store *store, StatementId *inout_how_many, int64_t *out_left) {
    Error *error = give_back_pages(store, *inout_how_many, out_left);
    if (error_code(error) != ERROR_EXHAUSTED || *inout_how_many == STATEMENT_GIVE_BACK_FEW_PAGES)
        return error;
    error_free(error); /* tries again in smaller steps */
    *inout_how_many = STATEMENT_GIVE_BACK_FEW_PAGES;
    return give_back_pages(store, *inout_how_many, out_left);
}

static Error *give_back_space(Store *store, const atomic_bool *stop) {
    int64_t before = INT64_MAX, left;
    StatementId how_many = STATEMENT_GIVE_BACK_PAGES;
    for (;;) {
        TRY(give_back_some(store, &how_many, &left));
        if (left == 0 || left >= before || atomic_load(stop)) break;
        before = left;
    }
    Transaction OWN_TRANSACTION(lock) = transaction_lock(store, DATABASE_CHUNKS);
    return connection_checkpoint(lock.connection, NULL);
}

uint64_t gc_estimate_bytes(const Store *store) {
    return atomic_load_explicit(&store->released_bytes, memory_order_relaxed);
}

Error *gc_run(Store *store, GcResult *out_result) {
    atomic_bool never = false;
    return gc_run_until(store, &never, out_result);
}

Error *gc_run_until(Store *store, const atomic_bool *stop, GcResult *out_result) {
    GcResult result = {0};
    TRY(store_take_room(store));
    TRY(removals_run(store, stop));
    TRY(delete_executables(store, stop, &result));
    TRY(delete_lists(store, stop));
    atomic_store_explicit(&store->released_bytes, 0, memory_order_relaxed); /* swept from here on */
    TRY(sweep_chunks(store, stop, &result));
    if (result.chunks > 0) TRY(give_back_space(store, stop));
    if (!atomic_load(stop)) TRY(weight_folder_sweep(store));
    *out_result = result;
    return NULL;
}
