#pragma once
/* A writer's lock, and a write transaction under it: committed, or as if it had never begun. */
#include <stdbool.h>

#include "store/store_internal.h"

typedef struct Transaction {
    Store *store; /* NULL: ended */
    DatabaseKind kind;
    Connection *connection; /* the writer's, while the transaction lasts */
} Transaction;

/* Only takes the lock, to look at what it guards. Who asked first gets it first. */
Transaction transaction_lock(Store *store, DatabaseKind kind);
/* Errors: IO after a failed sync, for ever; EXHAUSTED; IO. */
MUST_CHECK Error *transaction_begin(Store *store, DatabaseKind kind, Transaction *out);
/* Begins under a lock already taken. */
MUST_CHECK Error *transaction_begin_locked(Transaction *transaction);
/* Durable when it returns NULL. The lock stays taken until transaction_end. */
MUST_CHECK Error *transaction_commit(Transaction *transaction);
/* Rolls back what was not committed and gives the lock back. */
void transaction_end(Transaction *transaction);
#define OWN_TRANSACTION(name) __attribute__((cleanup(transaction_end), unused)) name
