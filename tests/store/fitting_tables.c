/* Stands before connection_check_tables, which prepares each statement of the store: most of what
 * fsck costs in a small home, and the tests check thousands of them. The outcome depends on the
 * tables alone, so tables that are those which fitted before are not asked again. The linker puts
 * this function before the real one (--wrap). */
#include <pthread.h>
#include <sqlite3.h>
#include <string.h>

#include "base/allocator.h"
#include "store/database/connection.h"

/* The names are the linker's. */
Error *__real_connection_check_tables(Connection *connection);
Error *__wrap_connection_check_tables(Connection *connection);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards `fitting` */
static char *fitting[DATABASE_COUNT]; /* the tables that fitted last; NULL: none yet */

/* Everything that SQLite knows of the tables before it prepares a statement; NULL if it cannot be
 * read. Release with memory_free. */
static char *read_tables(sqlite3 *handle) {
    static const char sql[] = "SELECT group_concat(type || ' ' || name || ' ' || tbl_name || ' ' ||"
                              " rootpage || ' ' || quote(sql), char(10))"
                              " FROM (SELECT * FROM sqlite_schema ORDER BY rowid)";
    sqlite3_stmt *statement;
    char *tables = NULL;
    if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) != SQLITE_OK) return NULL;
    if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
        error_free(memory_copy_text((const char *)sqlite3_column_text(statement, 0), &tables));
    if (sqlite3_finalize(statement) == SQLITE_OK) return tables;
    memory_free(tables);
    return NULL;
}

static bool fitted_before(DatabaseKind kind, const char *tables) {
    (void)pthread_mutex_lock(&mutex);
    const bool same = fitting[kind] && strcmp(fitting[kind], tables) == 0;
    (void)pthread_mutex_unlock(&mutex);
    return same;
}

static void remember(DatabaseKind kind, char *owned_tables) {
    (void)pthread_mutex_lock(&mutex);
    memory_free(fitting[kind]);
    fitting[kind] = owned_tables;
    (void)pthread_mutex_unlock(&mutex);
}

Error *__wrap_connection_check_tables(Connection *connection) {
    char *tables = read_tables(connection->handle);
    if (!tables) return __real_connection_check_tables(connection);
    if (fitted_before(connection->kind, tables)) {
        memory_free(tables);
        return NULL;
    }
    Error *error = __real_connection_check_tables(connection);
    if (error)
        memory_free(tables);
    else
        remember(connection->kind, tables);
    return error;
}
