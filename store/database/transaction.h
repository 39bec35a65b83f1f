#pragma once
/* A writer's lock, and a write transaction under it: committed, or as if it had never begun. */
#include <stdbool.h>

#include "store/database/store_internal.h"

typedef struct Transaction {
    Store *store; /* NULL: ended */
    DatabaseKind kind;
    Connection *connection; /* the writer's, while the transaction lasts; NULL: not open yet */
    bool frees; /* it makes room, and may use what is kept for that on a full disk (disk_room.h) */
} Transaction;

/* Only takes the lock, to look at what it guards. Who asked first gets it first. */
Transaction transaction_lock(Store *store, DatabaseKind kind);
/* Errors: IO after a failed sync, for ever; EXHAUSTED; IO. */
MUST_CHECK Error *transaction_begin(Store *store, DatabaseKind kind, Transaction *out);
/* Begins under a lock already taken. */
MUST_CHECK Error *transaction_begin_locked(Transaction *transaction);
/* Durable when it returns NULL. The lock stays taken until transaction_end. */
MUST_CHECK Error *transaction_commit(Transaction *transaction);
/* Seen by everybody, but durable only with a later transaction_commit or transaction_sync. A power
 * cut loses it as if it had never been, with whatever was committed behind it. Only for chunks. */
MUST_CHECK Error *transaction_commit_unsynced(Transaction *transaction);
/* The last commit that has begun: whatever anybody has seen is in it or before. */
uint64_t transaction_last(const Store *store, DatabaseKind kind);
/* That commit and all before it are durable when it returns NULL. Not under the writer's lock. */
MUST_CHECK Error *transaction_sync(Store *store, DatabaseKind kind, uint64_t commit);
/* Copies the log into the file under a lock. gives_way: it stops, having copied nothing, once
 * somebody else asks for the lock. Errors: EXHAUSTED; IO; CANCELLED it was stopped. */
MUST_CHECK Error *transaction_copy_log(Transaction *lock, bool gives_way, bool *out_whole);
/* Rolls back what was not committed and gives the lock back. */
void transaction_end(Transaction *transaction);
#define OWN_TRANSACTION(name) __attribute__((cleanup(transaction_end), unused)) name
