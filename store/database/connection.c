#include "store/database/connection.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/allocator.h"
#include "serialize/chunk/chunk.h"
#include "store/database/disk_blocks.h"
#include "store/home/home.h"

enum {
    BUSY_TIMEOUT_MS = 5000,
    ROW_SIZE_SPARE = 64 << 10, /* room for a row's columns beside its blob */
    SQL_SIZE_MAX = 64 << 10,
    LOG_HEADER_SIZE = 32,
    LOG_INDEX_SIZE = 64 << 10,  /* of a log of 8,158 pages: more than 16 MiB */
    LOG_FRAME_HEADER_SIZE = 24, /* of a page in the log; SQLite, "File Format", section 4.1 */
};

/* The catalog's log is copied into the file when it has 16 MiB. Each copy costs two syncs, and a
 * page that was written often between two copies is copied once.
 *
 * The chunks' cache holds all pages that a transaction touches, with the index pages, which hashes
 * hit in random order. A page that left the cache and is written twice in one transaction makes
 * SQLite read the log back and checksum it again. An upload is many transactions and durable only
 * as a whole. So each transaction is only written to the log, and one sync ends the upload. The log
 * of a large upload is copied when nothing is written (log_copier.h). */
const DatabaseInfo database_infos[DATABASE_COUNT] = {
    [DATABASE_CATALOG] = {"catalog.db", 0x4c794361, 4096, 8 << 10,
        EXECUTABLE_MANIFEST_SIZE_MAX + ROW_SIZE_SPARE, 16 << 20, 1 << 20, false},
    [DATABASE_CHUNKS] = {"chunks.db", 0x4c794368, 65536, 16 << 10,
        CHUNK_STORED_SIZE_MAX + ROW_SIZE_SPARE, 48 << 20, 2 << 20, true},
};

static Error *fail_full(Connection *connection) {
    connection->log_full = true;
    FAIL(EXHAUSTED, "%s: no space left on the disk; free some, or run gc, and try again",
        database_infos[connection->kind].file);
}

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
        /* After a failed sync the kernel may forget pages and then report the next sync as
         * successful. Later writes could not be trusted, so the store stays read-only until it is
         * reopened. */
        atomic_store(connection->sync_failed, true);
        FAIL(IO, "%s: the disk failed to sync; nothing more is written until the store is reopened",
            file);
    }
    switch (code == SQLITE_IOERR_NOMEM ? SQLITE_NOMEM : code & 0xff) {
    case SQLITE_FULL:
        return fail_full(connection);
    case SQLITE_INTERRUPT:
        FAIL(CANCELLED, "%s: stopped", file);
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
        if (number == ENOSPC || number == EDQUOT) return fail_full(connection);
        FAIL(IO, "%s: %s%s%s", file, message, number ? ": " : "", number ? strerror(number) : "");
    case SQLITE_ERROR: /* SQLite does not understand a statement of statements.def */
        FAIL(CORRUPT, "%s: its tables are not those of its version: %s; run fsck", file, message);
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
    Connection *connection = self;
    if (pages < connection->log_pages) /* the log began anew and was cut */
        disk_blocks_note_cut(
            (uint64_t)database_infos[connection->kind].log_size_max, &connection->log_room);
    connection->log_pages = pages;
    connection->pages = connection->taken_pages;
    return SQLITE_OK;
}

/* Sets the options that SQLite recommends for untrusted files: SQL in the file's schema does not
 * run, and lengths are limited. Triggers that the connection itself makes do run. */
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
        /* A large cache is useless for a reader, since megabytes pass through it. */
        return connection_execute(connection, "PRAGMA query_only = ON; PRAGMA cache_size = 16");
    /* SQLite's own checkpoints would run after every thousandth page, in the middle of an
     * upload. */
    (void)sqlite3_wal_hook(connection->handle, count_log_pages, connection);
    return NULL;
}

/* Made here, since SQLite would make the file readable for everybody. The log and its index take
 * the file's mode. */
static Error *make_file(Connection *connection, const char *path) {
    connection->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat status;
    if (connection->file < 0 || fstat(connection->file, &status) != 0)
        FAIL(IO, "open %s: %s", path, strerror(errno));
    connection->file_room = (uint64_t)status.st_size;
    return NULL;
}

static Error *open_path(Connection *connection, const char *path) {
    bool writer = connection->role == CONNECTION_WRITER;
    if (writer) TRY(make_file(connection, path));
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
    connection->log_file = connection->index_file = connection->file = -1;
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

/* Called when the file exists, since SQLite converts the cache's size to pages by the page size
 * known at the call. */
static Error *tune_writer(Connection *connection) {
    const DatabaseInfo *info = &database_infos[connection->kind];
    char sql[160];
    (void)sqlite3_snprintf(sizeof sql, sql,
        "PRAGMA cache_size = -%d; PRAGMA journal_size_limit = %lld; PRAGMA synchronous = %s",
        info->cache_kib, (long long)info->log_size_max, info->syncs_apart ? "NORMAL" : "FULL");
    return connection_execute(connection, sql);
}

static bool is_of(const StatementInfo *info, DatabaseKind kind) {
    return info->databases &
           (kind == DATABASE_CATALOG ? STATEMENT_IN_CATALOG : STATEMENT_IN_CHUNKS);
}

static bool takes(const Connection *connection, const StatementInfo *info) {
    const bool may = info->use == STATEMENT_READS || connection->role == CONNECTION_WRITER;
    return may && is_of(info, connection->kind);
}

static int prepare(Connection *connection, StatementId id) {
    return sqlite3_prepare_v3(connection->handle, statement_infos[id].sql, -1,
        SQLITE_PREPARE_PERSISTENT, &connection->statements[id], NULL);
}

/* Prepares the statements that end a transaction before one begins: they must not fail for lack of
 * memory. */
Error *connection_make_ready(Connection *connection) {
    for (int i = 0; i < STATEMENT_COUNT; i++)
        if (statement_infos[i].use == STATEMENT_ENDS)
            TRY(check(connection, prepare(connection, (StatementId)i)));
    return tune_writer(connection);
}

Error *connection_check_tables(Connection *connection) {
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        sqlite3_stmt *statement;
        if (!is_of(&statement_infos[i], connection->kind)) continue;
        TRY(check(connection,
            sqlite3_prepare_v2(connection->handle, statement_infos[i].sql, -1, &statement, NULL)));
        (void)sqlite3_finalize(statement);
    }
    return NULL;
}

int connection_get_statement(Connection *connection, StatementId id, sqlite3_stmt **out) {
    int code = SQLITE_OK;
    assert(takes(connection, &statement_infos[id]));
    if (!connection->statements[id]) code = prepare(connection, id);
    *out = connection->statements[id];
    return code;
}

/* Closing any descriptor of the database drops all locks of the process on it. So this descriptor
 * is closed after SQLite's, and the writer's connection after the readers'. */
void connection_close(Connection *connection) {
    if (!connection) return;
    for (int i = 0; i < STATEMENT_COUNT; i++) (void)sqlite3_finalize(connection->statements[i]);
    if (connection->handle && (connection->keeps_log || atomic_load(connection->sync_failed)))
        /* Closing must not copy the log. A file that is not ours stays unchanged. After a failed
         * sync, only the log can be trusted: the next open checks its checksums. */
        (void)sqlite3_db_config(
            connection->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    (void)sqlite3_close(connection->handle);
    if (connection->log_file >= 0) (void)close(connection->log_file);
    if (connection->index_file >= 0) (void)close(connection->index_file);
    if (connection->file >= 0) (void)close(connection->file);
    memory_free(connection);
}

Error *connection_checkpoint(Connection *connection, bool *out_whole) {
    int pages, copied;
    TRY(check(connection, sqlite3_wal_checkpoint_v2(connection->handle, NULL,
                              SQLITE_CHECKPOINT_PASSIVE, &pages, &copied)));
    if (copied == pages) disk_blocks_renew(connection->file, &connection->file_room);
    if (out_whole) *out_whole = copied == pages;
    return NULL;
}

void connection_interrupt(Connection *connection) { sqlite3_interrupt(connection->handle); }

void connection_write_file(Connection *connection) {
    if (connection->file >= 0) (void)sync_file_range(connection->file, 0, 0, SYNC_FILE_RANGE_WRITE);
}

uint64_t connection_log_size(const Connection *connection) {
    const DatabaseInfo *info = &database_infos[connection->kind];
    return LOG_HEADER_SIZE +
           (uint64_t)connection->log_pages * ((uint64_t)info->page_size + LOG_FRAME_HEADER_SIZE);
}

bool connection_wants_checkpoint(const Connection *connection) {
    return connection_log_size(connection) >
           (uint64_t)database_infos[connection->kind].log_size_max;
}

/* ---- the log as a file ---- */

Error *connection_sync_log(Connection *connection) {
    sqlite3_file *log = NULL;
    int code = sqlite3_file_control(connection->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code == SQLITE_OK) /* a log that is not open is not synced */
        code = log && log->pMethods ? log->pMethods->xSync(log, SQLITE_SYNC_NORMAL) : SQLITE_ERROR;
    /* any failure means that commits are not durable */
    return code == SQLITE_OK ? NULL : connection_error(connection, SQLITE_IOERR_FSYNC);
}

/* Allocates the blocks of the mapped index. SQLite writes only one byte of each page: with blocks
 * smaller than pages, the other blocks would be missing on a full disk, and an access would be a
 * SIGBUS. */
static void fill_index(Connection *connection, const char *database) {
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s-shm", database);
    connection->index_file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (connection->index_file >= 0) /* without room, the index stays as SQLite makes it */
        (void)fallocate(connection->index_file, FALLOC_FL_KEEP_SIZE, 0, LOG_INDEX_SIZE);
}

/* Opens the log a second time, since SQLite does not give its descriptor away. Closing this
 * descriptor drops no lock of SQLite: its locks are on the database and on the log's index. */
bool connection_open_log(Connection *connection) {
    if (connection->log_file >= 0) return true;
    const char *database = sqlite3_db_filename(connection->handle, "main");
    const char *path = database ? sqlite3_filename_wal(database) : NULL;
    if (!path || !path[0]) return false;
    connection->log_file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (connection->log_file < 0) return false;
    fill_index(connection, database);
    return true;
}

bool connection_needs_checkpoint(Connection *connection) {
    struct statvfs disk;
    uint64_t size = connection_log_size(connection);
    if (!connection_wants_checkpoint(connection)) return false;
    if (size > LOG_SIZE_LAST || !connection_open_log(connection)) return true;
    if (fstatvfs(connection->log_file, &disk)) return true;
    return size > (uint64_t)disk.f_bavail * disk.f_frsize / 4;
}

void connection_write_log(Connection *connection) {
    uint64_t end = connection_log_size(connection), begin = connection->log_written;
    if (!connection_open_log(connection)) return;
    if (begin > end) begin = 0; /* the log was begun anew */
    (void)sync_file_range(
        connection->log_file, (off_t)begin, (off_t)(end - begin), SYNC_FILE_RANGE_WRITE);
    if (end > LOG_UNWRITTEN_MAX)
        (void)sync_file_range(
            connection->log_file, 0, (off_t)(end - LOG_UNWRITTEN_MAX), SYNC_FILE_RANGE_WAIT_BEFORE);
    connection->log_written = end;
}
