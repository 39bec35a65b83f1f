#include "store/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/allocator.h"
#include "serialize/chunk.h"
#include "store/home.h"
#include "store/models.h"

enum {
    BUSY_TIMEOUT_MS = 5000,
    ROW_SIZE_SPARE = 64 << 10, /* what a row holds beside its blob */
    SQL_SIZE_MAX = 64 << 10,
};

/* The catalog's log is copied into the file when it has 16 MiB: each time costs two syncs, and a
 * page that was written often since then is copied once.
 *
 * The chunks' cache holds what a transaction touches, its index pages too, which hashes hit in
 * random order: a page written twice in one transaction makes SQLite read the log back and checksum
 * it again. */
const DatabaseInfo database_infos[DATABASE_COUNT] = {
    [DATABASE_CATALOG] = {"catalog.db", 0x4c794361, 4096, 8 << 10,
        EXECUTABLE_MANIFEST_SIZE_MAX + ROW_SIZE_SPARE, 16 << 20},
    [DATABASE_CHUNKS] = {"chunks.db", 0x4c794368, 65536, 48 << 10,
        CHUNK_STORED_SIZE_MAX + ROW_SIZE_SPARE, 48 << 20},
};

static bool is_failed_sync(int code) {
    return code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
}

Error *connection_error(Connection *connection, int code) {
    const char *file = database_infos[connection->kind].file;
    const char *message = sqlite3_errstr(code);
    int number = 0;
    if (connection->handle && sqlite3_extended_errcode(connection->handle) == code) {
        message = sqlite3_errmsg(connection->handle);
        number = sqlite3_system_errno(connection->handle);
    }
    if (is_failed_sync(code)) {
        /* What the kernel could not write it may forget and then call synced: nothing written later
         * could be trusted, so the store stays read-only until somebody opens it anew. */
        atomic_store(connection->sync_failed, true);
        FAIL(IO, "%s: the disk failed to sync; nothing more is written until the store is reopened",
            file);
    }
    switch (code == SQLITE_IOERR_NOMEM ? SQLITE_NOMEM : code & 0xff) {
    case SQLITE_FULL:
        FAIL(EXHAUSTED, "%s: no space left on the disk; free some, or run gc, and try again", file);
    case SQLITE_NOMEM:
        FAIL(OUT_OF_MEMORY, "%s: out of memory", file);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        FAIL(CORRUPT, "%s: damaged: %s", file, message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        FAIL(REFUSED, "%s: another program holds it locked; close that program", file);
    case SQLITE_CONSTRAINT:
        FAIL(CORRUPT, "%s: contradicts itself: %s; run fsck", file, message);
    case SQLITE_TOOBIG:
        FAIL(INVALID, "%s: more than it takes in one row", file);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
        if (number == ENOSPC || number == EDQUOT)
            FAIL(EXHAUSTED, "%s: no space left on the disk; free some, or run gc, and try again",
                file);
        FAIL(IO, "%s: %s%s%s", file, message, number ? ": " : "", number ? strerror(number) : "");
    default:
        FAIL(INTERNAL, "%s: %s", file, message);
    }
}

static Error *check(Connection *connection, int code) {
    return code == SQLITE_OK ? NULL : connection_error(connection, code);
}

Error *connection_execute(Connection *connection, const char *sql) {
    return check(connection, sqlite3_exec(connection->handle, sql, NULL, NULL, NULL));
}

Error *connection_read_i64(Connection *connection, const char *sql, int64_t *out) {
    sqlite3_stmt *statement;
    TRY(check(connection, sqlite3_prepare_v2(connection->handle, sql, -1, &statement, NULL)));
    int code = sqlite3_step(statement);
    int64_t value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    Error *error = code == SQLITE_ROW ? NULL : connection_error(connection, code);
    (void)sqlite3_finalize(statement);
    if (!error) *out = value;
    return error;
}

static int count_log_pages(void *self, sqlite3 *handle, const char *database, int pages) {
    (void)handle;
    (void)database;
    ((Connection *)self)->log_pages = pages;
    return SQLITE_OK;
}

/* SQLite's advice for files from elsewhere: no SQL in the file's schema runs, nothing is longer
 * than it may be. */
static Error *harden(Connection *connection) {
    static const struct {
        int option, value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 1},
        {SQLITE_DBCONFIG_DQS_DDL, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        TRY(check(connection, sqlite3_db_config(connection->handle, options[i].option,
                                  options[i].value, (int *)NULL)));
    (void)sqlite3_limit(
        connection->handle, SQLITE_LIMIT_LENGTH, database_infos[connection->kind].length_max);
    (void)sqlite3_limit(connection->handle, SQLITE_LIMIT_SQL_LENGTH, SQL_SIZE_MAX);
    (void)sqlite3_limit(connection->handle, SQLITE_LIMIT_ATTACHED, 0);
    return NULL;
}

static Error *configure(Connection *connection) {
    (void)sqlite3_extended_result_codes(connection->handle, 1);
    (void)sqlite3_busy_timeout(connection->handle, BUSY_TIMEOUT_MS);
    TRY(harden(connection));
    TRY(connection_execute(connection, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
                                       "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY"));
    if (connection->role == CONNECTION_READER)
        /* A reader's page cache only churns while megabytes pass through it. */
        return connection_execute(connection, "PRAGMA query_only = ON; PRAGMA cache_size = 16");
    /* SQLite's own checkpoints would come after every thousandth page, in the middle of an upload.
     */
    (void)sqlite3_wal_hook(connection->handle, count_log_pages, connection);
    char sql[64];
    (void)sqlite3_snprintf(
        sizeof sql, sql, "PRAGMA cache_size = -%d", database_infos[connection->kind].cache_kib);
    return connection_execute(connection, sql);
}

/* SQLite would make it readable for everybody; its log and index take the file's mode. */
static Error *make_file(const char *path) {
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) FAIL(IO, "open %s: %s", path, strerror(errno));
    (void)close(file);
    return NULL;
}

static Error *open_path(Connection *connection, const char *path) {
    bool writer = connection->role == CONNECTION_WRITER;
    if (writer) TRY(make_file(path));
    int flags = SQLITE_OPEN_NOMUTEX | (writer ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
    TRY(check(connection, sqlite3_open_v2(path, &connection->handle, flags, NULL)));
    return configure(connection);
}

Error *connection_open(const char *home, DatabaseKind kind, ConnectionRole role,
    atomic_bool *sync_failed, Connection **out_connection) {
    char *path;
    Connection *connection;
    TRY(memory_alloc(1, sizeof *connection, (void **)&connection));
    connection->kind = kind;
    connection->role = role;
    connection->keeps_log = true;
    connection->sync_failed = sync_failed;
    Error *error = home_path(home, database_infos[kind].file, &path);
    if (!error) {
        error = open_path(connection, path);
        memory_free(path);
    }
    if (error)
        connection_close(connection);
    else
        *out_connection = connection;
    return error;
}

Error *connection_prepare(Connection *connection) {
    unsigned database =
        connection->kind == DATABASE_CATALOG ? STATEMENT_IN_CATALOG : STATEMENT_IN_CHUNKS;
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        const StatementInfo *info = &statement_infos[i];
        if (!(info->databases & database)) continue;
        if (info->use != STATEMENT_READS && connection->role == CONNECTION_READER) continue;
        int code = sqlite3_prepare_v3(connection->handle, info->sql, -1, SQLITE_PREPARE_PERSISTENT,
            &connection->statements[i], NULL);
        if (code == SQLITE_ERROR)
            FAIL(CORRUPT, "%s: its tables are not those of its version: %s",
                database_infos[connection->kind].file, sqlite3_errmsg(connection->handle));
        TRY(check(connection, code));
    }
    return NULL;
}

void connection_close(Connection *connection) {
    if (!connection) return;
    for (int i = 0; i < STATEMENT_COUNT; i++) (void)sqlite3_finalize(connection->statements[i]);
    if (connection->handle && (connection->keeps_log || atomic_load(connection->sync_failed)))
        /* A file that is not ours stays as it is. After a failed sync the log is all there is to
         * recover from: the next open checks its checksums. */
        (void)sqlite3_db_config(
            connection->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    (void)sqlite3_close(connection->handle);
    memory_free(connection);
}

Error *connection_checkpoint(Connection *connection) {
    return check(connection,
        sqlite3_wal_checkpoint_v2(connection->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL));
}

bool connection_wants_checkpoint(const Connection *connection) {
    const DatabaseInfo *info = &database_infos[connection->kind];
    return (int64_t)connection->log_pages * info->page_size > info->log_size_max;
}
