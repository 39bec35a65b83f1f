#include "store/transaction.h"

Transaction transaction_lock(Store *store, DatabaseKind kind) {
    (void)pthread_mutex_lock(&store->writers[kind].mutex);
    return (Transaction){store, kind, store->writers[kind].connection};
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
    TRY(run(transaction, STATEMENT_COMMIT));
    if (connection_wants_checkpoint(transaction->connection))
        /* The commit is durable in the log whatever becomes of this. The next commit tries again;
         * after a failed sync it is refused. */
        error_free(connection_checkpoint(transaction->connection));
    return NULL;
}

void transaction_end(Transaction *transaction) {
    if (!transaction->store) return;
    /* Some failures have rolled back already. */
    if (!sqlite3_get_autocommit(transaction->connection->handle))
        error_free(run(transaction, STATEMENT_ROLLBACK)); /* the reason for it was reported */
    (void)pthread_mutex_unlock(&transaction->store->writers[transaction->kind].mutex);
    transaction->store = NULL;
}
