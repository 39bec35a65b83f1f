#include "store/removals.h"

#include <string.h>

#include "store/removals_internal.h"
#include "store/row_costs.h"
#include "tests/store/job_fixtures.h"

enum { OUTPUTS = 5000, EVENTS = 3000 };

/* How many rows a transaction of the catalog's changed at most. */
typedef struct CommitWatch {
    sqlite3 *handle;
    int seen, most, commits;
} CommitWatch;

static int note_commit(void *context) {
    CommitWatch *watch = context;
    int now = sqlite3_total_changes(watch->handle);
    if (now - watch->seen > watch->most) watch->most = now - watch->seen;
    watch->seen = now;
    watch->commits++;
    return 0;
}

static void watch_commits(Store *store, CommitWatch *out) {
    expect_ok(store_open_writer(store, DATABASE_CATALOG));
    *out = (CommitWatch){.handle = store->writers[DATABASE_CATALOG].connection->handle};
    out->seen = sqlite3_total_changes(out->handle);
    (void)sqlite3_commit_hook(out->handle, note_commit, out);
}

static void unwatch_commits(const CommitWatch *watch) {
    (void)sqlite3_commit_hook(watch->handle, NULL, NULL);
}

/* As many outputs and events as a busy job has, of 10 bytes each; finished. */
static JobId make_large_job(const TestHome *home) {
    char sql[1600];
    OWN(Store, store) = fixture_open(home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_SUCCEEDED, NULL)));
    int64_t row = fixture_get(store, TENANT_DEFAULT, id).row;
    store_close(TAKE(store));
    (void)snprintf(sql, sizeof sql,
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
        " INSERT INTO contents (job, kind, sequence, created, bytes_raw, bytes_stored,"
        " chunk_count, digest, bytes) SELECT %lld, 2, i, 0, 10, 10, 0,"
        " x'1f825aa2f0020ef7cf91dfa30da4668d791c5d4824fc8e41354b89ec05795ab3',"
        " x'00010203040506070809' FROM n;"
        "WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
        " INSERT INTO job_events SELECT %lld, i, 3, 0, 3, 0, 0, '' FROM n;"
        "UPDATE jobs SET output_count = %d, outputs_visible = %d, event_count = %d,"
        " bytes_stored = bytes_stored + %d WHERE id = %lld;"
        "UPDATE tenants SET bytes_stored = bytes_stored + %d + %d,"
        " output_bytes = output_bytes + %d WHERE id = 1",
        OUTPUTS - 1, (long long)row, EVENTS, (long long)row, OUTPUTS, OUTPUTS, EVENTS, 10 * OUTPUTS,
        (long long)row, 10 * OUTPUTS, ROW_COST_EVENT * (EVENTS - JOB_EVENTS_PAID), 10 * OUTPUTS);
    fixture_run_sql(home, "catalog.db", sql);
    return id;
}

static int64_t count_rows(const TestHome *home, const char *table) {
    char sql[80];
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    return fixture_read_sql(home, "catalog.db", sql);
}

static uint64_t tenant_bytes(Store *store) {
    Tenant tenant;
    expect_ok(tenants_get(store, TENANT_DEFAULT, &tenant));
    return tenant.bytes_stored;
}

static void expect_gone(Store *store, JobId id) {
    OWN(JobList, list) = NULL;
    Job job;
    TenantId tenant;
    size_t counts[JOB_STATE_COUNT];
    expect_error(jobs_get(store, TENANT_DEFAULT, id, &job), ERROR_NOT_FOUND, "no job");
    expect_error(jobs_find_tenant(store, id, &tenant), ERROR_NOT_FOUND, "no job");
    expect_ok(jobs_list(store, JOBS_OF_ALL_TENANTS, JOB_STATE_NONE, 0, 100, &list));
    assert_int_equal(list->count, 0);
    job_list_release(TAKE(list));
    expect_ok(jobs_list(store, TENANT_DEFAULT, JOB_STATE_NONE, 0, 100, &list));
    assert_int_equal(list->count, 0);
    expect_ok(jobs_count(store, counts));
    for (int i = 0; i < JOB_STATE_COUNT; i++) assert_int_equal(counts[i], 0);
}

static void test_removals_take_bounded_steps(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    const atomic_bool never = false;
    JobId id = make_large_job(&home);
    OWN(Store, store) = fixture_open(&home);
    CommitWatch watch;
    fixture_expect_clean(store);
    uint64_t before = tenant_bytes(store);
    watch_commits(store, &watch);
    expect_ok(fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, id)));
    expect_gone(store, id); /* at once */
    assert_true(count_rows(&home, "contents") > OUTPUTS / 2);
    assert_true(tenant_bytes(store) < before);
    fixture_expect_clean(store); /* what is marked is counted, too */
    uint64_t marked = tenant_bytes(store);
    expect_ok(removals_run(store, &never));
    /* with an event its tenant's row, which gets back what it cost */
    assert_in_range(watch.most, REMOVAL_STEP_ROWS / 2, 2 * REMOVAL_STEP_ROWS + 100);
    assert_true(watch.commits >= (OUTPUTS + EVENTS) / REMOVAL_STEP_ROWS);
    unwatch_commits(&watch);
    assert_true(tenant_bytes(store) < marked);
    assert_int_equal(count_rows(&home, "contents"), 0);
    assert_int_equal(count_rows(&home, "job_events"), 0);
    assert_int_equal(count_rows(&home, "jobs"), 0);
    assert_int_equal(count_rows(&home, "job_removals"), 0);
    fixture_expect_clean(store);
}

/* The mark is durable: whoever opens the home next goes on. */
static void test_removals_go_on_after_a_restart(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    const atomic_bool stopped = true;
    GcResult result;
    JobId id = make_large_job(&home);
    {
        OWN(Store, store) = fixture_open(&home);
        expect_ok(fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, id)));
        expect_ok(removals_run(store, &stopped));
    }
    assert_true(count_rows(&home, "contents") > 0);
    OWN(Store, store) = fixture_open(&home);
    expect_gone(store, id);
    expect_ok(
        models_remove(store, TENANT_DEFAULT, "m", NULL)); /* the job holds its model no more */
    expect_ok(gc_run(store, &result));
    assert_int_equal(count_rows(&home, "contents"), 0);
    assert_int_equal(tenant_bytes(store), 0);
    fixture_expect_clean(store);
}

static void test_removals_of_the_retention_share_a_step(void **state) {
    (void)state;
    enum { JOBS = 3 };
    TestHome OWN_HOME(home) = fixture_home_make();
    CommitWatch watch;
    size_t count;
    JobId ids[JOBS];
    for (int i = 0; i < JOBS; i++) ids[i] = make_large_job(&home);
    OWN(Store, store) = fixture_open(&home);
    watch_commits(store, &watch);
    expect_ok(fixture_end(jobs_expire(fixture_begin(store), TENANT_DEFAULT, 1e12, 100, &count)));
    assert_int_equal(count, JOBS);
    assert_in_range(watch.most, 1, REMOVAL_STEP_ROWS + 100);
    unwatch_commits(&watch);
    for (int i = 0; i < JOBS; i++) expect_gone(store, ids[i]);
}

/* What a tombstone had goes in steps, too; it cannot become a job again before. */
static void test_removals_of_a_tombstones_contents(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    const atomic_bool never = false;
    bool found;
    JobId id = make_large_job(&home);
    fixture_run_sql(&home, "catalog.db",
        "UPDATE jobs SET state = 7, finished = NULL;"
        "UPDATE tenants SET bytes_stored = bytes_stored + " ROW_COST_TEXT(ROW_COST_TOMBSTONE));
    OWN(Store, store) = fixture_open(&home);
    expect_ok(fixture_end(jobs_drop_contents(fixture_begin(store), TENANT_DEFAULT, id)));
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_int_equal(job.state, JOB_STATE_RELEASED);
    assert_int_equal(job.bytes_stored, 0);
    expect_ok(removals_find_job(fixture_begin(store), job.row, &found));
    expect_ok(fixture_end(NULL));
    assert_true(found);
    fixture_expect_clean(store);
    expect_ok(removals_run(store, &never));
    expect_ok(removals_find_job(fixture_begin(store), job.row, &found));
    expect_ok(fixture_end(NULL));
    assert_false(found);
    assert_int_equal(count_rows(&home, "contents"), 0);
    assert_int_equal(count_rows(&home, "job_events"), EVENTS); /* they stay */
    fixture_expect_clean(store);
}

static void test_removals_of_a_model_take_steps(void **state) {
    (void)state;
    enum { ALIASES = 3000 };
    TestHome OWN_HOME(home) = fixture_home_make();
    const atomic_bool never = false;
    CommitWatch watch;
    ModelVersion OWN_VERSION(version) = {0};
    char sql[256];
    {
        OWN(Store, store) = fixture_open(&home);
        (void)fixture_add_executable(store, TENANT_DEFAULT);
    }
    (void)snprintf(sql, sizeof sql,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
        " INSERT INTO aliases SELECT 1, 1, 'a' || i, 1 FROM n;"
        "UPDATE tenants SET bytes_stored = bytes_stored + %d",
        ALIASES, ALIASES * ROW_COST_ALIAS);
    fixture_run_sql(&home, "catalog.db", sql);
    OWN(Store, store) = fixture_open(&home);
    watch_commits(store, &watch);
    expect_ok(models_remove(store, TENANT_DEFAULT, "m", NULL));
    expect_error(models_find(store, TENANT_DEFAULT, "m", &version), ERROR_NOT_FOUND, "no model m");
    (void)fixture_add_executable(store, TENANT_DEFAULT); /* its name is free */
    OWN(ModelList, list) = NULL;
    expect_ok(models_list(store, TENANT_DEFAULT, &list));
    assert_int_equal(list->count, 1);
    expect_ok(removals_run(store, &never));
    /* with each row its tenant's, which gets back what it cost */
    assert_in_range(watch.most, REMOVAL_STEP_ROWS, 2 * REMOVAL_STEP_ROWS + 100);
    unwatch_commits(&watch);
    assert_int_equal(count_rows(&home, "aliases"), 0);
    assert_int_equal(count_rows(&home, "models"), 1);
    fixture_expect_clean(store);
}

TEST_GROUP(removals, cmocka_unit_test(test_removals_take_bounded_steps),
    cmocka_unit_test(test_removals_go_on_after_a_restart),
    cmocka_unit_test(test_removals_of_the_retention_share_a_step),
    cmocka_unit_test(test_removals_of_a_tombstones_contents),
    cmocka_unit_test(test_removals_of_a_model_take_steps))
