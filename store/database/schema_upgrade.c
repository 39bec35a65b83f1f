#include "store/database/schema_upgrade.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "store/schema_scripts.h"

enum { SETTINGS_SQL_SIZE = 128, MODE_SIZE = 16 };

typedef struct Scripts {
    const char *const *scripts;
    int64_t count;
} Scripts;

static const Scripts all_scripts[DATABASE_COUNT] = {
    [DATABASE_CATALOG] = {schema_catalog, sizeof schema_catalog / sizeof *schema_catalog},
    [DATABASE_CHUNKS] = {schema_chunks, sizeof schema_chunks / sizeof *schema_chunks},
};

int64_t schema_upgrade_latest(DatabaseKind kind) { return all_scripts[kind].count; }

Error *schema_upgrade_check(Connection *connection, int64_t *out_version) {
    const DatabaseInfo *info = &database_infos[connection->kind];
    int64_t application_id, version, tables;
    TRY(connection_read_i64(connection, "PRAGMA application_id", &application_id));
    TRY(connection_read_i64(connection, "PRAGMA user_version", &version));
    TRY(connection_read_i64(connection, "SELECT count(*) FROM sqlite_schema", &tables));
    bool empty = application_id == 0 && version == 0 && tables == 0;
    if (!empty && application_id != info->application_id)
        FAIL(CORRUPT, "%s: not a file of Layover's (application id %lld, not %lld)", info->file,
            (long long)application_id, (long long)info->application_id);
    if (!empty && version < 1)
        FAIL(CORRUPT, "%s: has the impossible version %lld", info->file, (long long)version);
    if (version > schema_upgrade_latest(connection->kind))
        FAIL(UNSUPPORTED, "%s: store version %lld, this Layover knows up to %lld; use a newer one",
            info->file, (long long)version, (long long)schema_upgrade_latest(connection->kind));
    *out_version = version;
    return NULL;
}

/* SQLite, "Database File Format", section 1.3; numbers are big-endian. */
enum {
    HEADER_SIZE = 100,
    HEADER_WRITE_MODE = 18, /* the mode of reading follows */
    HEADER_MODE_LOG = 2,
    HEADER_USER_VERSION = 60,
    HEADER_APPLICATION_ID = 68,
};

static int64_t header_number(const uint8_t *at) {
    return (int64_t)at[0] << 24 | (int64_t)at[1] << 16 | (int64_t)at[2] << 8 | at[3];
}

static bool read_header(const char *path, uint8_t header[HEADER_SIZE]) {
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return false;
    const bool whole = pread(file, header, HEADER_SIZE, 0) == HEADER_SIZE;
    (void)close(file);
    return whole;
}

static bool is_latest(const char *path, const char *log_path, DatabaseKind kind) {
    static const char magic[] = "SQLite format 3";
    uint8_t header[HEADER_SIZE];
    struct stat log;
    if (stat(log_path, &log) == 0 ? log.st_size > 0 : errno != ENOENT) return false;
    return read_header(path, header) && memcmp(header, magic, sizeof magic) == 0 &&
           header[HEADER_WRITE_MODE] == HEADER_MODE_LOG &&
           header[HEADER_WRITE_MODE + 1] == HEADER_MODE_LOG &&
           header_number(header + HEADER_USER_VERSION) == schema_upgrade_latest(kind) &&
           header_number(header + HEADER_APPLICATION_ID) == database_infos[kind].application_id;
}

bool schema_upgrade_is_done(const char *home, DatabaseKind kind) {
    TextBuilder OWN_TEXT(path) = {0};
    TextBuilder OWN_TEXT(log_path) = {0};
    text_appendf(&path, "%s/%s", home, database_infos[kind].file);
    text_appendf(&log_path, "%s/%s-wal", home, database_infos[kind].file);
    return !path.failed && !log_path.failed &&
           is_latest(text_builder_get(&path), text_builder_get(&log_path), kind);
}

static Error *run_script(Connection *connection, int64_t version) {
    const DatabaseInfo *info = &database_infos[connection->kind];
    char header[SETTINGS_SQL_SIZE];
    (void)sqlite3_snprintf(sizeof header, header,
        "PRAGMA application_id = %lld; PRAGMA user_version = %lld", info->application_id,
        version + 1);
    TRY(connection_execute(connection, "BEGIN IMMEDIATE"));
    Error *error = connection_execute(connection, all_scripts[connection->kind].scripts[version]);
    if (!error) error = connection_execute(connection, header);
    if (!error) error = connection_execute(connection, "COMMIT");
    if (error && !sqlite3_get_autocommit(connection->handle))
        error_free(connection_execute(connection, "ROLLBACK")); /* the first error is returned */
    return error_wrap(error, "version %lld", (long long)(version + 1));
}

static int copy_mode(void *self, int columns, char **values, char **names) {
    (void)names;
    if (columns == 1 && values[0]) (void)sqlite3_snprintf(MODE_SIZE, self, "%s", values[0]);
    return 0;
}

/* SQLite keeps the old mode, without an error, if the file system does not support a log. */
static Error *use_log(Connection *connection) {
    char mode[MODE_SIZE] = "";
    int code = sqlite3_exec(connection->handle, "PRAGMA journal_mode = WAL", copy_mode, mode, NULL);
    if (code != SQLITE_OK) return connection_error(connection, code);
    if (strcmp(mode, "wal") != 0)
        FAIL(IO, "%s: this file system can't keep a write-ahead log (mode %s); use another --home",
            database_infos[connection->kind].file, mode);
    return NULL;
}

Error *schema_upgrade_run(Connection *connection, int64_t version) {
    const DatabaseInfo *info = &database_infos[connection->kind];
    if (version == 0) {
        /* SQLite accepts these two settings only for an empty file. Incremental: gc returns space
         * to the file system. */
        char settings[SETTINGS_SQL_SIZE];
        (void)sqlite3_snprintf(sizeof settings, settings,
            "PRAGMA page_size = %d; PRAGMA auto_vacuum = INCREMENTAL", info->page_size);
        TRY(connection_execute(connection, settings));
    }
    connection->keeps_log = false;
    TRY(use_log(connection));
    for (; version < schema_upgrade_latest(connection->kind); version++)
        TRY(run_script(connection, version));
    return NULL;
}
