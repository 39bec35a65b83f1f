#include "tests/store/removal_fixtures.h"

#include "store/database/row_costs.h"
#include "store/database/store_connections_internal.h"

static int note_commit(void *context) {
    CommitWatch *watch = context;
    int now = sqlite3_total_changes(watch->handle);
    if (now - watch->seen > watch->most) watch->most = now - watch->seen;
    watch->seen = now;
    watch->commits++;
    return 0;
}

void commit_watch(Store *store, CommitWatch *out) {
    expect_ok(store_open_writer(store, DATABASE_CATALOG));
    *out = (CommitWatch){.handle = store->writers[DATABASE_CATALOG].connection->handle};
    out->seen = sqlite3_total_changes(out->handle);
    (void)sqlite3_commit_hook(out->handle, note_commit, out);
}

void commit_unwatch(const CommitWatch *watch) {
    (void)sqlite3_commit_hook(watch->handle, NULL, NULL);
}

JobId fixture_large_job(const TestHome *home) {
    char sql[400];
    OWN(Store, store) = fixture_open(home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_SUCCEEDED, NULL)));
    int64_t row = fixture_get(store, TENANT_DEFAULT, id).row;
    store_close(TAKE(store));
    fixture_make_outputs(home, row, LARGE_JOB_OUTPUTS, LARGE_JOB_OUTPUTS);
    (void)snprintf(sql, sizeof sql,
        "WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
        " INSERT INTO job_events SELECT %lld, i, 3, 0, 3, 0, 0, '' FROM n;"
        "UPDATE jobs SET event_count = %d WHERE id = %lld;"
        "UPDATE tenants SET bytes_stored = bytes_stored + %d WHERE id = 1",
        LARGE_JOB_EVENTS, (long long)row, LARGE_JOB_EVENTS, (long long)row,
        ROW_COST_EVENT * (LARGE_JOB_EVENTS - JOB_EVENTS_PAID));
    fixture_run_sql(home, "catalog.db", sql);
    return id;
}

int64_t fixture_count_rows(const TestHome *home, const char *table) {
    char sql[80];
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    return fixture_read_sql(home, "catalog.db", sql);
}
