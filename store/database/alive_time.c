#include "store/database/alive_time.h"

#include "store/database/query.h"

Error *alive_time_read(Connection *catalog, double *out_seconds) {
    bool row;
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_ALIVE_TIME);
    TRY(query_next(&query, &row));
    if (!row) FAIL(CORRUPT, "catalog.db: the home's own row is gone; run fsck");
    return query_f64(&query, 0, out_seconds);
}

Error *alive_time_add(Connection *catalog, double seconds, double *out_seconds) {
    Query OWN_QUERY(change) = query_start(catalog, STATEMENT_ADD_ALIVE_TIME);
    query_bind_f64(&change, 1, seconds);
    TRY(query_run(&change));
    return alive_time_read(catalog, out_seconds);
}
