#include "store/database/transaction_lock.h"

#include "store/database/disk_room.h"
#include "store/database/query.h"

Transaction transaction_lock(Store *store, DatabaseKind kind) {
    StoreWriter *writer = &store->writers[kind];
    (void)pthread_mutex_lock(&writer->mutex);
    uint64_t ticket = ++writer->last_ticket;
    if (writer->copies_log) connection_interrupt(writer->connection);
    while (writer->serving != ticket) (void)pthread_cond_wait(&writer->turn, &writer->mutex);
    (void)pthread_mutex_unlock(&writer->mutex);
    return (Transaction){store, kind, writer->connection, false};
}

Error *transaction_copy_log(Transaction *lock, bool gives_way, bool *out_whole) {
    StoreWriter *writer = &lock->store->writers[lock->kind];
    Error *error = NULL;
    (void)pthread_mutex_lock(&writer->mutex);
    bool awaited = gives_way && writer->serving < writer->last_ticket;
    writer->copies_log = gives_way && !awaited;
    (void)pthread_mutex_unlock(&writer->mutex);
    *out_whole = false;
    if (!awaited) error = connection_checkpoint(lock->connection, out_whole);
    (void)pthread_mutex_lock(&writer->mutex);
    writer->copies_log = false;
    (void)pthread_mutex_unlock(&writer->mutex);
    return error;
}

static void unlock(StoreWriter *writer) {
    (void)pthread_mutex_lock(&writer->mutex);
    writer->serving++;
    bool awaited = writer->serving <= writer->last_ticket;
    if (awaited) (void)pthread_cond_broadcast(&writer->turn);
    (void)pthread_mutex_unlock(&writer->mutex);
}

void transaction_end(Transaction *transaction) {
    if (!transaction->store) return;
    /* Some failures have rolled back already. */
    if (transaction->connection && !sqlite3_get_autocommit(transaction->connection->handle))
        error_free(query_run_alone(
            transaction->connection, STATEMENT_ROLLBACK)); /* the first error was returned */
    if (transaction->connection) disk_room_recover(transaction->connection);
    unlock(&transaction->store->writers[transaction->kind]);
    transaction->store = NULL;
}
