#pragma once
/* Runs a statement: binds its parameters, steps through its rows, reads their columns. Called by
 * all files of store/ that read or write rows. Threads: the one that has the connection. */
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "store/database/job_id.h"
#include "store/database/statement.h"
#include "store/database/store_types.h"

/* A running statement. A failed binding is remembered, and the next step reports it. */
typedef struct Query {
    Connection *connection;
    sqlite3_stmt *statement; /* NULL: there is no statement to finish */
    int failed;              /* an SQLite code */
} Query;

/* Ends the statement and the read transaction that it may have opened. */
void query_finish(Query *query);
#define OWN_QUERY(name) __attribute__((cleanup(query_finish))) name

Query query_start(Connection *connection, StatementId id);
void query_bind_i64(Query *query, int parameter, int64_t value);
/* Binds the id's node to this parameter and its number to the next one. */
void query_bind_job_id(Query *query, int parameter, JobId id);
void query_bind_f64(Query *query, int parameter, double value);
/* Binds NULL for NaN. A parameter that was never bound is NULL, too. */
void query_bind_optional_f64(Query *query, int parameter, double value);
/* Binds a text, which must live until query_finish. */
void query_bind_text(Query *query, int parameter, const char *text);
void query_bind_blob(Query *query, int parameter, const void *data, size_t size);
void query_bind_digest(Query *query, int parameter, const Digest *digest);

/* Runs a statement without parameters and results. */
MUST_CHECK Error *query_run_alone(Connection *connection, StatementId id);

/* Steps to the next row, if any. */
MUST_CHECK Error *query_next(Query *query, bool *out_row);
/* Runs the statement to its end and skips its rows. */
MUST_CHECK Error *query_run(Query *query);
/* Runs an INSERT of one row and returns its rowid. */
MUST_CHECK Error *query_insert(Query *query, int64_t *out_row);
/* Runs an INSERT of one row that may exist already. out_new: whether the row was inserted. */
MUST_CHECK Error *query_insert_new(Query *query, bool *out_new);
/* Reads the first column of the first row; out_found is false when there is no row. */
MUST_CHECK Error *query_find_i64(Query *query, bool *out_found, int64_t *out);

/* Columns of the present row. Tables are strict, but a damaged file may hold anything.
 * Errors: CORRUPT another type, length or sign. */
bool query_is_null(const Query *query, int column);
MUST_CHECK Error *query_i64(const Query *query, int column, int64_t *out);
MUST_CHECK Error *query_size(const Query *query, int column, uint64_t *out);
/* Reads any integer, for code that must go on with a damaged row; otherwise: the result when the
 * column is not an integer. */
int64_t query_any_i64(const Query *query, int column, int64_t otherwise);
/* Reads an id: its node from this column, its number from the next one. */
MUST_CHECK Error *query_job_id(const Query *query, int column, JobId *out);
MUST_CHECK Error *query_f64(const Query *query, int column, double *out);
/* Reads NaN for NULL. */
MUST_CHECK Error *query_optional_f64(const Query *query, int column, double *out);
/* Copies a text; size counts the terminating NUL. */
MUST_CHECK Error *query_text(const Query *query, int column, char *out, size_t size);
MUST_CHECK Error *query_digest(const Query *query, int column, Digest *out);
/* Reads bytes that stay valid until the next step; NULL, 0 for an empty blob. */
MUST_CHECK Error *query_blob(
    const Query *query, int column, const uint8_t **out_data, size_t *out_size);
