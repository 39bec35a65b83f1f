#pragma once
/* One SQLite connection to one of the store's two files, with the settings that the store's
 * promises depend on. Only store/ uses connections directly. Threads: one at a time per connection,
 * unless a function says otherwise. */
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/database/statement.h"
#include "store/database/store_types.h"

/* The chunks' log is copied at a quiet moment, but at LOG_SIZE_LAST at the latest. At most
 * LOG_UNWRITTEN_MAX of it may be on its way to the disk. */
#define LOG_SIZE_LAST ((uint64_t)1280 << 20)
#define LOG_UNWRITTEN_MAX ((uint64_t)128 << 20)

typedef enum DatabaseKind { DATABASE_CATALOG, DATABASE_CHUNKS, DATABASE_COUNT } DatabaseKind;

typedef struct DatabaseInfo {
    const char *file;
    int64_t application_id; /* in the file's header: marks the file as ours */
    int page_size;
    int cache_kib;        /* the writer's page cache */
    int length_max;       /* longest row that is written or accepted */
    int64_t log_size_max; /* the write-ahead log is copied into the file beyond this size */
    int64_t log_room;     /* bytes that the log has allocated ahead (disk_room.h) */
    bool syncs_apart;     /* a commit is durable only after connection_sync_log */
} DatabaseInfo;

extern const DatabaseInfo database_infos[DATABASE_COUNT];

typedef enum ConnectionRole { CONNECTION_WRITER, CONNECTION_READER } ConnectionRole;

/* A connection. Threads: one at a time. */
struct Connection {
    sqlite3 *handle;
    DatabaseKind kind;
    ConnectionRole role;
    /* NULL: not for this connection, or not yet prepared */
    sqlite3_stmt *statements[STATEMENT_COUNT];
    int log_pages;              /* pages in the write-ahead log after the last commit */
    uint64_t log_written;       /* bytes of the log that were given to the disk */
    int index_file;             /* a writer's descriptor of the log's index; -1: not yet opened */
    int log_file;               /* a descriptor of the log; -1: not yet opened */
    int file;                   /* a writer's descriptor of the database; -1: none */
    int64_t pages, taken_pages; /* pages of the file: at the last commit, with the coming commit */
    uint64_t file_room, log_room; /* allocated blocks reach up to here (disk_room.h) */
    bool log_full;                /* a write found no room: disk_room_recover follows */
    bool settings_changed;        /* a statement changed settings since the last commit */
    bool keeps_log; /* closing leaves the log unchanged, until the file is known to be ours */
    atomic_bool *sync_failed; /* the store's flag; set when a sync fails */
    Store *store;             /* the owner, to which a reader returns */
    struct Connection *next;  /* in the store's list of idle readers */
};

/* Opens a file without changing it. A writer creates a missing file, still empty; a reader fails.
 */
MUST_CHECK Error *connection_open(const char *home, DatabaseKind kind, ConnectionRole role,
    atomic_bool *sync_failed, Connection **out_connection);
/* Prepares a writer, once the tables exist. */
MUST_CHECK Error *connection_make_ready(Connection *connection);
/* Checks that all statements fit the tables. Errors: CORRUPT SQLite rejects a statement, since the
 * tables differ. */
MUST_CHECK Error *connection_check_tables(Connection *connection);
/* Returns a statement, prepared at its first use, so that a short process pays only for the
 * statements that it uses. Returns an SQLite code; *out is NULL unless the code is SQLITE_OK. */
int connection_get_statement(Connection *connection, StatementId id, sqlite3_stmt **out);
void connection_close(Connection *connection);

/* Runs SQL for settings and upgrades of the schema; all other SQL is in statements.def. */
MUST_CHECK Error *connection_execute(Connection *connection, const char *sql);
MUST_CHECK Error *connection_read_i64(Connection *connection, const char *sql, int64_t *out);

/* Turns an SQLite result into an error and remembers failed syncs. code must not be SQLITE_OK. */
MUST_CHECK Error *connection_error(Connection *connection, int code);

/* Makes everything committed so far durable. Errors: IO; the store then writes nothing more. */
MUST_CHECK Error *connection_sync_log(Connection *connection);
/* Makes the disk begin to write the commits since the last call, and waits while more than
 * LOG_UNWRITTEN_MAX is on its way, so that a later sync is short. A hint only: it cannot fail. */
void connection_write_log(Connection *connection);

/* Copies the write-ahead log into the file, as far as no reader needs it. out_whole: whether the
 * whole log was copied; may be NULL. */
MUST_CHECK Error *connection_checkpoint(Connection *connection, bool *out_whole);
/* Stops a checkpoint that another thread runs, unless it has reached its last step, the sync of the
 * file. Threads: any, while the connection is open. */
void connection_interrupt(Connection *connection);
/* Makes the disk begin to write the pages that a running checkpoint has copied, so that its sync is
 * short. Threads: any, while the connection is open. */
void connection_write_file(Connection *connection);
/* Opens a writer's log_file. Returns false when there is no log. */
bool connection_open_log(Connection *connection);
/* Returns the bytes in the log after the last commit. */
uint64_t connection_log_size(const Connection *connection);
/* Returns whether the log is large enough to be copied. */
bool connection_wants_checkpoint(const Connection *connection);
/* Returns whether the log is too large to wait for a quiet moment: beyond LOG_SIZE_LAST, or beyond
 * a quarter of the free space on the disk. */
bool connection_needs_checkpoint(Connection *connection);
