#include "store/database/removal_steps.h"

#include "store/database/connection.h"
#include "store/database/query.h"

Error *removal_steps_run(Connection *catalog, StatementId id, int64_t row) {
    Query OWN_QUERY(query) = query_start(catalog, id);
    query_bind_i64(&query, 1, row);
    return query_run(&query);
}

Error *removal_steps_delete(
    Connection *catalog, StatementId id, int64_t row, uint64_t *inout_rows) {
    if (*inout_rows == 0) return NULL;
    Query OWN_QUERY(query) = query_start(catalog, id);
    query_bind_i64(&query, 1, row);
    query_bind_i64(&query, 2, (int64_t)*inout_rows);
    TRY(query_run(&query));
    *inout_rows -= (uint64_t)sqlite3_changes(catalog->handle);
    return NULL;
}
