#pragma once
/* A writer's lock, and the transaction that may be open under it. Called by all files of store/
 * that change rows, and by log_copier.c. Threads: any; the lock serves waiting threads in order. */
#include <stdbool.h>

#include "store/database/store_connections_internal.h"

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
/* Copies the log into the file under a lock. gives_way: the copy stops when another thread asks for
 * the lock, and has then copied nothing. Errors: EXHAUSTED; IO; CANCELLED the copy was stopped. */
MUST_CHECK Error *transaction_copy_log(Transaction *lock, bool gives_way, bool *out_whole);
/* Rolls back uncommitted changes and releases the lock. */
void transaction_end(Transaction *transaction);
#define OWN_TRANSACTION(name) __attribute__((cleanup(transaction_end), unused)) name
