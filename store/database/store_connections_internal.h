#pragma once
/* The store's connections: the writer of each database, and readers, which are lent. Called by all
 * files of store/ that read or write rows, on any thread. */
#include "base/own.h"
#include "store/database/query.h"
#include "store/database/store_state_internal.h"

/* Opens the writer's connection if necessary. Called by the thread that holds the writer. */
MUST_CHECK Error *store_open_writer(Store *store, DatabaseKind kind);

/* Notes bytes that are no longer referred to; many of them make a gc worthwhile. */
void store_note_released(Connection *writer, uint64_t bytes);

/* Borrows a reading connection; OWN(Connection, reader) returns it. No statement may be running on
 * it then. */
MUST_CHECK Error *store_borrow_reader(Store *store, DatabaseKind kind, Connection **out_reader);
void store_return_reader(Connection *reader);
DEFINE_OWN(Connection, store_return_reader);

/* Opens a writer's file, and reads the version of its tables. Called by the thread that opens the
 * store or holds the writer. */
MUST_CHECK Error *store_begin_writer(Store *store, DatabaseKind kind, int64_t *out_version);
/* Upgrades the tables of a writer that was begun, and prepares it. Errors: as a change. */
MUST_CHECK Error *store_upgrade_writer(Store *store, DatabaseKind kind, int64_t version);
MUST_CHECK Error *store_prepare_writer(Store *store, DatabaseKind kind);
/* The error for a catalog without its chunks. */
MUST_CHECK Error *store_lost_chunks(void);
