#pragma once
/* Write transactions, each of which is committed or leaves no trace. Called by all files of store/
 * that change rows. Threads: any; transaction_lock.h has the lock. */
#include "store/database/transaction_lock.h"

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
