#pragma once
/* Bringing a database's tables up to date: schema/DATABASE_NNNN_what.sql, run in order, each in one
 * transaction with the version it leads to (user_version in the file's header). */
#include <stdbool.h>
#include <stdint.h>

#include "store/database/connection.h"

/* The version that this build makes. */
int64_t schema_upgrade_latest(DatabaseKind kind);

/* Whether there is nothing to upgrade, by the file's header alone: false, too, where a log could
 * say otherwise, or something cannot be read. Nobody in this process has the file open. */
bool schema_upgrade_is_done(const char *home, DatabaseKind kind);

/* Looks whose file it is, without changing it.
 *
 * out_version: 0 for an empty file.
 * Errors:      CORRUPT no database, or not this one of ours; UNSUPPORTED a newer version. */
MUST_CHECK Error *schema_upgrade_check(Connection *connection, int64_t *out_version);

/* Runs what is missing after version. */
MUST_CHECK Error *schema_upgrade_run(Connection *connection, int64_t version);
