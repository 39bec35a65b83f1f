#include "store/database/query.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "store/database/connection.h"

Query query_start(Connection *connection, StatementId id) {
    Query query = {.connection = connection};
    query.failed = connection_get_statement(connection, id, &query.statement);
    if (statement_infos[id].use == STATEMENT_CHANGES_SETTINGS) connection->settings_changed = true;
    return query;
}

void query_finish(Query *query) {
    if (!query->statement) return;
    /* Reset repeats the step's failure, which was reported then. */
    (void)sqlite3_reset(query->statement);
    (void)sqlite3_clear_bindings(query->statement);
    query->statement = NULL;
}

static void remember(Query *query, int code) {
    if (query->failed == SQLITE_OK) query->failed = code;
}

void query_bind_i64(Query *query, int parameter, int64_t value) {
    remember(query, sqlite3_bind_int64(query->statement, parameter, value));
}

void query_bind_job_id(Query *query, int parameter, JobId id) {
    query_bind_i64(query, parameter, (int64_t)id.node);
    query_bind_i64(query, parameter + 1, (int64_t)id.number);
}

void query_bind_f64(Query *query, int parameter, double value) {
    remember(query, sqlite3_bind_double(query->statement, parameter, value));
}

void query_bind_optional_f64(Query *query, int parameter, double value) {
    if (!isnan(value)) query_bind_f64(query, parameter, value);
}

void query_bind_text(Query *query, int parameter, const char *text) {
    remember(query, sqlite3_bind_text64(query->statement, parameter, text, strlen(text),
                        SQLITE_STATIC, SQLITE_UTF8));
}

void query_bind_blob(Query *query, int parameter, const void *data, size_t size) {
    remember(query, sqlite3_bind_blob64(query->statement, parameter, data, size, SQLITE_STATIC));
}

void query_bind_digest(Query *query, int parameter, const Digest *digest) {
    query_bind_blob(query, parameter, digest->bytes, DIGEST_SIZE);
}

Error *query_next(Query *query, bool *out_row) {
    if (query->failed != SQLITE_OK) return connection_error(query->connection, query->failed);
    int code = sqlite3_step(query->statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE) return connection_error(query->connection, code);
    *out_row = code == SQLITE_ROW;
    return NULL;
}

Error *query_run(Query *query) {
    bool row;
    do {
        TRY(query_next(query, &row));
    } while (row);
    return NULL;
}

Error *query_run_alone(Connection *connection, StatementId id) {
    Query OWN_QUERY(query) = query_start(connection, id);
    return query_run(&query);
}

Error *query_insert(Query *query, int64_t *out_row) {
    TRY(query_run(query));
    *out_row = sqlite3_last_insert_rowid(query->connection->handle);
    return NULL;
}

Error *query_insert_new(Query *query, bool *out_new) {
    TRY(query_run(query));
    *out_new = sqlite3_changes(query->connection->handle) > 0;
    return NULL;
}

Error *query_find_i64(Query *query, bool *out_found, int64_t *out) {
    bool row;
    TRY(query_next(query, &row));
    int64_t value = 0;
    if (row) TRY(query_i64(query, 0, &value));
    if (row) TRY(query_run(query));
    if (row) *out = value;
    *out_found = row;
    return NULL;
}

static Error *check_type(const Query *query, int column, int type) {
    if (sqlite3_column_type(query->statement, column) == type) return NULL;
    FAIL(CORRUPT, "%s: column %s holds the wrong type; run fsck",
        database_infos[query->connection->kind].file,
        sqlite3_column_name(query->statement, column));
}

bool query_is_null(const Query *query, int column) {
    return sqlite3_column_type(query->statement, column) == SQLITE_NULL;
}

Error *query_i64(const Query *query, int column, int64_t *out) {
    TRY(check_type(query, column, SQLITE_INTEGER));
    *out = sqlite3_column_int64(query->statement, column);
    return NULL;
}

int64_t query_any_i64(const Query *query, int column, int64_t otherwise) {
    const bool number = sqlite3_column_type(query->statement, column) == SQLITE_INTEGER;
    return number ? sqlite3_column_int64(query->statement, column) : otherwise;
}

Error *query_size(const Query *query, int column, uint64_t *out) {
    int64_t value;
    TRY(query_i64(query, column, &value));
    if (value < 0)
        FAIL(CORRUPT, "%s: column %s is negative; run fsck",
            database_infos[query->connection->kind].file,
            sqlite3_column_name(query->statement, column));
    *out = (uint64_t)value;
    return NULL;
}

Error *query_job_id(const Query *query, int column, JobId *out) {
    TRY(query_size(query, column, &out->node));
    return query_size(query, column + 1, &out->number);
}

Error *query_f64(const Query *query, int column, double *out) {
    TRY(check_type(query, column, SQLITE_FLOAT));
    *out = sqlite3_column_double(query->statement, column);
    return NULL;
}

Error *query_optional_f64(const Query *query, int column, double *out) {
    if (!query_is_null(query, column)) return query_f64(query, column, out);
    *out = NAN;
    return NULL;
}

Error *query_text(const Query *query, int column, char *out, size_t size) {
    TRY(check_type(query, column, SQLITE_TEXT));
    const unsigned char *text = sqlite3_column_text(query->statement, column);
    size_t length = (size_t)sqlite3_column_bytes(query->statement, column);
    if (!text) return connection_error(query->connection, SQLITE_NOMEM);
    if (length >= size || memchr(text, 0, length))
        FAIL(CORRUPT, "%s: column %s holds no name; run fsck",
            database_infos[query->connection->kind].file,
            sqlite3_column_name(query->statement, column));
    memcpy(out, text, length);
    out[length] = 0;
    /* damage may have changed a bit; the text is shown to people and in JSON, which must be
     * UTF-8 */
    const bool damaged = !text_is_utf8(out, length);
    for (size_t i = 0; damaged && i < length; i++)
        if ((unsigned char)out[i] >= 0x80) out[i] = '?';
    return NULL;
}

Error *query_blob(const Query *query, int column, const uint8_t **out_data, size_t *out_size) {
    TRY(check_type(query, column, SQLITE_BLOB));
    const void *data = sqlite3_column_blob(query->statement, column);
    size_t size = (size_t)sqlite3_column_bytes(query->statement, column);
    if (!data && size > 0) return connection_error(query->connection, SQLITE_NOMEM);
    *out_data = data;
    *out_size = data ? size : 0;
    return NULL;
}

Error *query_digest(const Query *query, int column, Digest *out) {
    const uint8_t *data;
    size_t size;
    TRY(query_blob(query, column, &data, &size));
    if (size != DIGEST_SIZE)
        FAIL(CORRUPT, "%s: column %s holds no digest; run fsck",
            database_infos[query->connection->kind].file,
            sqlite3_column_name(query->statement, column));
    memcpy(out->bytes, data, DIGEST_SIZE);
    return NULL;
}
