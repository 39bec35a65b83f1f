#include "store/database/store_connections_internal.h"

#include "store/database/row_charges.h"
#include "store/database/schema_upgrade.h"

Error *store_begin_writer(Store *store, DatabaseKind kind, int64_t *out_version) {
    Connection *connection;
    TRY(connection_open(store->path, kind, CONNECTION_WRITER, &store->sync_failed, &connection));
    connection->store = store;
    store->writers[kind].connection = connection;
    return schema_upgrade_check(connection, out_version);
}

Error *store_lost_chunks(void) {
    FAIL(CORRUPT,
        "%s: missing or empty beside a %s that is not; put it back, or start with another --home",
        database_infos[DATABASE_CHUNKS].file, database_infos[DATABASE_CATALOG].file);
}

Error *store_upgrade_writer(Store *store, DatabaseKind kind, int64_t version) {
    return schema_upgrade_run(store->writers[kind].connection, version);
}

Error *store_prepare_writer(Store *store, DatabaseKind kind) {
    Connection *connection = store->writers[kind].connection;
    if (kind == DATABASE_CATALOG) TRY(row_charges_install(connection));
    return connection_make_ready(connection);
}

static Error *make_writer(Store *store, DatabaseKind kind) {
    int64_t version;
    TRY(store_begin_writer(store, kind, &version));
    if (version == 0) return store_lost_chunks();
    TRY(store_upgrade_writer(store, kind, version));
    return store_prepare_writer(store, kind);
}

Error *store_open_writer(Store *store, DatabaseKind kind) {
    StoreWriter *writer = &store->writers[kind];
    if (writer->connection) return NULL;
    Error *error = make_writer(store, kind);
    if (error) {
        connection_close(writer->connection);
        writer->connection = NULL;
    }
    return error;
}

void store_note_released(Connection *writer, uint64_t bytes) {
    (void)atomic_fetch_add_explicit(&writer->store->released_bytes, bytes, memory_order_relaxed);
}

Error *store_borrow_reader(Store *store, DatabaseKind kind, Connection **out_reader) {
    (void)pthread_mutex_lock(&store->readers_mutex);
    Connection *reader = store->idle_readers[kind];
    if (reader) {
        store->idle_readers[kind] = reader->next;
        store->idle_reader_counts[kind]--;
    }
    (void)pthread_mutex_unlock(&store->readers_mutex);
    if (reader) {
        *out_reader = reader;
        return NULL;
    }
    TRY(connection_open(store->path, kind, CONNECTION_READER, &store->sync_failed, &reader));
    reader->store = store;
    *out_reader = reader;
    return NULL;
}

void store_return_reader(Connection *reader) {
    if (!reader) return;
    Store *store = reader->store;
    (void)pthread_mutex_lock(&store->readers_mutex);
    bool keep = store->idle_reader_counts[reader->kind] < STORE_IDLE_READERS_MAX;
    if (keep) {
        reader->next = store->idle_readers[reader->kind];
        store->idle_readers[reader->kind] = reader;
        store->idle_reader_counts[reader->kind]++;
    }
    (void)pthread_mutex_unlock(&store->readers_mutex);
    if (!keep) connection_close(reader);
}
