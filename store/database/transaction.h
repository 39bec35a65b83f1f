#pragma once
/* A writer's lock, and a write transaction under it, which is committed or leaves no trace. Only
 * store/ uses it. Threads: any; the lock serves waiting threads in order. */
#include <stdbool.h>

#include "store/database/store_internal.h"

typedef struct Transaction {
    Store *store; /* NULL: ended */
    DatabaseKind kind;
    Connection *connection; /* the writer's connection during the transaction; NULL: not open yet */
    /* the transaction makes room: it may use the room kept for a full disk (disk_room.h) */
    bool frees;
} Transaction;

/* Takes the lock without a transaction, to read the fields that the lock guards. Threads get the
 * lock in the order in which they ask. */
Transaction transaction_lock(Store *store, DatabaseKind kind);
/* Takes the lock and begins. Errors: IO also for ever after a failed sync; EXHAUSTED. */
MUST_CHECK Error *transaction_begin(Store *store, DatabaseKind kind, Transaction *out);
/* Begins under a lock that is already taken. */
MUST_CHECK Error *transaction_begin_locked(Transaction *transaction);
/* Commits. The transaction is durable when the call returns NULL. The lock stays taken until
 * transaction_end. */
MUST_CHECK Error *transaction_commit(Transaction *transaction);
/* Commits without a sync. All readers see the commit, but it becomes durable only with a later
 * transaction_commit or transaction_sync; a power cut removes it and every later commit. Only for
 * chunks. */
MUST_CHECK Error *transaction_commit_unsynced(Transaction *transaction);
/* Returns the number of the last commit that has begun. All visible data is in it or before it. */
uint64_t transaction_last(const Store *store, DatabaseKind kind);
/* Makes that commit and all before it durable. Must not be called under the writer's lock. */
MUST_CHECK Error *transaction_sync(Store *store, DatabaseKind kind, uint64_t commit);
/* Copies the log into the file under a lock. gives_way: the copy stops when another thread asks for
 * the lock, and has then copied nothing. Errors: EXHAUSTED; IO; CANCELLED the copy was stopped. */
MUST_CHECK Error *transaction_copy_log(Transaction *lock, bool gives_way, bool *out_whole);
/* Rolls back uncommitted changes and releases the lock. */
void transaction_end(Transaction *transaction);
#define OWN_TRANSACTION(name) __attribute__((cleanup(transaction_end), unused)) name
