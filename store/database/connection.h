#pragma once
/* One SQLite connection to one of the store's two files, with the settings that the store's
 * promises rest on. */
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/database/statement.h"
#include "store/database/store.h"

/* The chunks' log, which is copied at a quiet moment, is copied in any case beyond the first;
 * what of it is on its way to the disk stays below the second. */
#define LOG_SIZE_LAST ((uint64_t)1280 << 20)
#define LOG_UNWRITTEN_MAX ((uint64_t)128 << 20)

typedef enum DatabaseKind { DATABASE_CATALOG, DATABASE_CHUNKS, DATABASE_COUNT } DatabaseKind;

typedef struct DatabaseInfo {
    const char *file;
    int64_t application_id; /* in the file's header: whose file it is */
    int page_size;
    int cache_kib;        /* of the writer's page cache */
    int length_max;       /* of a row: nothing longer is written or believed */
    int64_t log_size_max; /* the write-ahead log is copied into the file beyond this */
    int64_t log_room;     /* and has so much ahead (disk_room.h) */
    bool syncs_apart;     /* a commit is durable only behind connection_sync_log */
} DatabaseInfo;

extern const DatabaseInfo database_infos[DATABASE_COUNT];

typedef enum ConnectionRole { CONNECTION_WRITER, CONNECTION_READER } ConnectionRole;

/* Threads: one at a time. */
struct Connection {
    sqlite3 *handle;
    DatabaseKind kind;
    ConnectionRole role;
    sqlite3_stmt *statements[STATEMENT_COUNT]; /* NULL: not for this connection, or not yet */
    int log_pages;                             /* in the write-ahead log after the last commit */
    uint64_t log_written;                      /* so much of it has been given to the disk */
    int index_file; /* of a writer: a descriptor of the log's index; -1: not yet opened */
    int log_file;   /* a descriptor for that; -1: not yet opened */
    int file;       /* of a writer: a descriptor of the database; -1: none */
    int64_t pages, taken_pages;   /* of the file: with the last commit, with the one that comes */
    uint64_t file_room, log_room; /* blocks are there up to here (disk_room.h) */
    bool log_full;                /* something found no room: disk_room_recover */
    bool settings_changed;        /* by a statement since the last commit */
    bool keeps_log; /* closing leaves the log as it is: until the file is known to be ours */
    atomic_bool *sync_failed; /* the store's; set when a sync fails */
    struct Store *store;      /* whose it is; a reader goes back to it */
    struct Connection *next;  /* in the store's list of idle readers */
};

/* Opens a file without changing it: a writer makes a missing one, still empty; a reader needs it.
 */
MUST_CHECK Error *connection_open(const char *home, DatabaseKind kind, ConnectionRole role,
    atomic_bool *sync_failed, Connection **out_connection);
/* A writer, once the tables are there. */
MUST_CHECK Error *connection_make_ready(Connection *connection);
/* Errors: CORRUPT where SQLite doesn't understand a statement, since the tables are others. */
MUST_CHECK Error *connection_check_tables(Connection *connection);
/* Prepared when it is first asked for, so that a short process pays for what it uses. An SQLite
 * code; not SQLITE_OK: *out is NULL. */
int connection_get_statement(Connection *connection, StatementId id, sqlite3_stmt **out);
void connection_close(Connection *connection);

/* Settings and upgrades of the schema; what runs later stands in statements.def. */
MUST_CHECK Error *connection_execute(Connection *connection, const char *sql);
MUST_CHECK Error *connection_read_i64(Connection *connection, const char *sql, int64_t *out);

/* An SQLite result as an error; remembers failed syncs. code must not be SQLITE_OK. */
MUST_CHECK Error *connection_error(Connection *connection, int code);

/* Everything committed so far is durable. Errors: IO; then nothing more is written. */
MUST_CHECK Error *connection_sync_log(Connection *connection);
/* The disk begins to write what was committed since the last call, and the caller waits while more
 * than LOG_UNWRITTEN_MAX is on its way: a later sync is short. Only a hint, so it can't fail. */
void connection_write_log(Connection *connection);

/* Copies the write-ahead log into the file, as far as no reader needs it: out_whole, which may be
 * NULL, says whether that was all of it. */
MUST_CHECK Error *connection_checkpoint(Connection *connection, bool *out_whole);
/* Stops a checkpoint that another thread runs, unless it is at its last step, the sync of the file.
 * Threads: any, while the connection is open. */
void connection_interrupt(Connection *connection);
/* The disk begins to write what a running checkpoint has copied so far: its sync is short then.
 * Threads: any, while the connection is open. */
void connection_write_file(Connection *connection);
/* A writer's log_file; false: there is none. */
bool connection_open_log(Connection *connection);
/* Bytes in the log after the last commit. */
uint64_t connection_log_size(const Connection *connection);
/* Whether the log has grown enough to be copied. */
bool connection_wants_checkpoint(const Connection *connection);
/* Whether it has grown so much that it can't wait for a quiet moment: beyond LOG_SIZE_LAST, or a
 * quarter of what is free on the disk. */
bool connection_needs_checkpoint(Connection *connection);
