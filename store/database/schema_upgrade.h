#pragma once
/* Upgrades a database's tables: runs schema/DATABASE_NNNN_what.sql in order, each in one
 * transaction with its new version (user_version in the file's header). Called by store.c in the
 * thread that opens the store. */
#include <stdbool.h>
#include <stdint.h>

#include "store/database/connection.h"

/* Returns the version that this build makes. */
int64_t schema_upgrade_latest(DatabaseKind kind);

/* Returns true when the file's header alone shows that nothing is to be upgraded. Returns false
 * also when a log could say otherwise, or something cannot be read. The file must not be open in
 * this process. */
bool schema_upgrade_is_done(const char *home, DatabaseKind kind);

/* Checks that the file is a database of ours, without changing it.
 *
 * out_version: 0 for an empty file.
 * Errors:      CORRUPT no database, or not this one of ours; UNSUPPORTED a newer version. */
MUST_CHECK Error *schema_upgrade_check(Connection *connection, int64_t *out_version);

/* Runs the steps behind version. */
MUST_CHECK Error *schema_upgrade_run(Connection *connection, int64_t version);
