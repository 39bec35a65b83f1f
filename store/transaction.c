#include "store/transaction.h"

Transaction transaction_lock(Store *store, DatabaseKind kind) {
    StoreWriter *writer = &store->writers[kind];
    (void)pthread_mutex_lock(&writer->mutex);
    uint64_t ticket = ++writer->last_ticket;
    while (writer->serving != ticket) (void)pthread_cond_wait(&writer->turn, &writer->mutex);
    (void)pthread_mutex_unlock(&writer->mutex);
    return (Transaction){store, kind, writer->connection};
}

static void unlock(StoreWriter *writer) {
    (void)pthread_mutex_lock(&writer->mutex);
    writer->serving++;
    bool awaited = writer->serving <= writer->last_ticket;
    if (awaited) (void)pthread_cond_broadcast(&writer->turn);
    (void)pthread_mutex_unlock(&writer->mutex);
}

static Error *run(Transaction *transaction, StatementId id) {
    Query OWN_QUERY(query) = query_start(transaction->connection, id);
    return query_run(&query);
}

Error *transaction_begin_locked(Transaction *transaction) {
    if (atomic_load(&transaction->store->sync_failed))
        FAIL(IO,
            "the disk failed to sync before; nothing more is written until the store is reopened");
    return run(transaction, STATEMENT_BEGIN);
}

Error *transaction_begin(Store *store, DatabaseKind kind, Transaction *out) {
    Transaction transaction = transaction_lock(store, kind);
    Error *error = transaction_begin_locked(&transaction);
    if (error)
        transaction_end(&transaction);
    else
        *out = transaction;
    return error;
}

Error *transaction_commit(Transaction *transaction) {
    Connection *connection = transaction->connection;
    TRY(run(transaction, STATEMENT_COMMIT));
    if (connection->settings_changed) atomic_fetch_add(&transaction->store->settings_generation, 1);
    connection->settings_changed = false;
    if (connection_wants_checkpoint(connection))
        /* The commit is durable in the log whatever becomes of this. The next commit tries again;
         * after a failed sync it is refused. */
        error_free(connection_checkpoint(connection));
    return NULL;
}

void transaction_end(Transaction *transaction) {
    if (!transaction->store) return;
    /* Some failures have rolled back already. */
    if (!sqlite3_get_autocommit(transaction->connection->handle))
        error_free(run(transaction, STATEMENT_ROLLBACK)); /* the reason for it was reported */
    unlock(&transaction->store->writers[transaction->kind]);
    transaction->store = NULL;
}
