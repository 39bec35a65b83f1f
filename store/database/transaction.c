#include "store/database/transaction.h"

#include "store/database/disk_room.h"
#include "store/database/log_copier.h"

static StoreWriter *writer_of(const Transaction *transaction) {
    return &transaction->store->writers[transaction->kind];
}

static Error *check_sync(const Store *store) {
    if (!atomic_load(&store->sync_failed)) return NULL;
    FAIL(IO, "the disk failed to sync before; nothing more is written until the store is reopened");
}

Error *transaction_begin_locked(Transaction *transaction) {
    TRY(check_sync(transaction->store));
    TRY(store_open_writer(transaction->store, transaction->kind));
    transaction->connection = writer_of(transaction)->connection;
    disk_room_prepare(transaction->connection);
    return query_run_alone(transaction->connection, STATEMENT_BEGIN);
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

/* Checks that the home still has this file. Otherwise another process could open the home and run
 * the same jobs from other files. */
static Error *check_home(const Transaction *transaction) {
    const char *name = database_infos[transaction->kind].file;
    if (home_still_has(&transaction->store->lock, name, transaction->connection->file)) return NULL;
    FAIL(IO, "%s was removed or replaced while this process has it open; nothing more is written",
        name);
}

static Error *commit(Transaction *transaction) {
    Connection *connection = transaction->connection;
    TRY(check_home(transaction));
    TRY(disk_room_take(connection, transaction->frees));
    atomic_fetch_add(&writer_of(transaction)->commits, 1);
    TRY(query_run_alone(transaction->connection, STATEMENT_COMMIT));
    if (connection->settings_changed) atomic_fetch_add(&transaction->store->settings_generation, 1);
    connection->settings_changed = false;
    return NULL;
}

/* Called under the lock, so no other thread commits. */
static Error *sync_commits(Transaction *transaction) {
    StoreWriter *writer = writer_of(transaction);
    if (database_infos[transaction->kind].syncs_apart)
        TRY(connection_sync_log(transaction->connection));
    atomic_store(&writer->durable_commits, atomic_load(&writer->commits));
    return NULL;
}

/* Errors are dropped: the commit stands. The next commit tries again, and after a failed sync it is
 * refused. */
static void care_for_log(Transaction *transaction) {
    Connection *connection = transaction->connection;
    bool waits = transaction->store->log_copier && database_infos[transaction->kind].syncs_apart;
    if (waits ? connection_needs_checkpoint(connection) : connection_wants_checkpoint(connection))
        error_free(connection_checkpoint(connection, NULL));
    if (waits) log_copier_note(transaction->store->log_copier, connection_log_size(connection));
}

Error *transaction_commit(Transaction *transaction) {
    TRY(commit(transaction));
    TRY(sync_commits(transaction));
    care_for_log(transaction);
    return NULL;
}

Error *transaction_commit_unsynced(Transaction *transaction) {
    TRY(commit(transaction));
    connection_write_log(transaction->connection);
    care_for_log(transaction);
    return NULL;
}

uint64_t transaction_last(const Store *store, DatabaseKind kind) {
    return atomic_load(&store->writers[kind].commits);
}

Error *transaction_sync(Store *store, DatabaseKind kind, uint64_t commit) {
    if (atomic_load(&store->writers[kind].durable_commits) >= commit) return NULL;
    Transaction OWN_TRANSACTION(lock) = transaction_lock(store, kind);
    if (atomic_load(&store->writers[kind].durable_commits) >= commit) return NULL;
    TRY(check_sync(store)); /* after a failed sync, a successful one would prove nothing */
    return sync_commits(&lock);
}
