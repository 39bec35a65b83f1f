#include "store/database/alive_time.h"
#include "store/database/row_costs.h"
#include "tests/store/job_fixtures.h"

static Error *move(Store *store, JobId id, JobState state) {
    return fixture_end(jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, state, NULL));
}

static Error *remove_job(Store *store, JobId id) {
    return fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, id));
}

static int64_t count_rows(const TestHome *home, const char *table) {
    char sql[80];
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    return fixture_read_sql(home, "catalog.db", sql);
}

static void test_jobs_remove_takes_everything_of_a_job(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    int64_t number;
    GcResult result;
    ChunkRef ref;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    JobContent content = fixture_chunk_content(upload, TENANT_DEFAULT, 500, &ref);
    expect_ok(fixture_end(
        job_outputs_add(fixture_begin(store), TENANT_DEFAULT, id, 0, &content, 1, 1, NULL)));
    chunk_upload_close(TAKE(upload));
    expect_ok(fixture_add_checkpoint(store, id, "checkpoint", 1, 1, 2, &number));
    expect_error(remove_job(store, id), ERROR_CONFLICT, "is queued; cancel it first");
    expect_ok(move(store, id, JOB_STATE_SUCCEEDED));
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.chunks, 0); /* the output's chunk is needed */
    expect_ok(remove_job(store, id));
    expect_error(remove_job(store, id), ERROR_NOT_FOUND, "no job");
    assert_int_equal(count_rows(&home, "contents"), 0);
    assert_int_equal(count_rows(&home, "content_lists"), 0);
    assert_int_equal(count_rows(&home, "job_events"), 0);
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.chunks, 1);
    assert_int_equal(count_rows(&home, "chunk_lists"), 0);
    assert_int_equal(count_rows(&home, "list_chunks"), 0);
    fixture_expect_clean(store); /* the tenant's bytes are right again */
}

static void test_jobs_tombstones_stay_and_lose_their_data(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    size_t count;
    Tenant tenant;
    expect_error(fixture_end(jobs_drop_contents(fixture_begin(store), TENANT_DEFAULT, id)),
        ERROR_CONFLICT, "still needed here");
    expect_ok(move(store, id, JOB_STATE_RELEASED));
    expect_ok(fixture_end(jobs_drop_contents(fixture_begin(store), TENANT_DEFAULT, id)));
    expect_error(remove_job(store, id), ERROR_CONFLICT, "is released; what stays of it");
    expect_ok(fixture_end(jobs_expire(fixture_begin(store), TENANT_DEFAULT, 1e12, 100, &count)));
    assert_int_equal(count, 0);
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, id).state, JOB_STATE_RELEASED);
    assert_int_equal(count_rows(&home, "contents"), 0);
    /* Its model may go. */
    expect_ok(models_remove(store, TENANT_DEFAULT, "m", NULL));
    expect_ok(tenants_get(store, TENANT_DEFAULT, &tenant));
    assert_int_equal(tenant.bytes_stored, ROW_COST_TOMBSTONE);
    fixture_expect_clean(store);
}

static void test_jobs_expire_after_the_tenants_retention(void **state) {
    (void)state;
    enum { JOBS = 70 }; /* more than a batch */
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    size_t count;
    double alive_s;
    for (int i = 0; i < JOBS; i++)
        expect_ok(move(store, fixture_submit(store, TENANT_DEFAULT), JOB_STATE_FAILED));
    JobId running = fixture_submit(store, TENANT_DEFAULT);
    JobId last = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(fixture_end(alive_time_add(fixture_begin(store), 10, &alive_s)));
    expect_ok(move(store, last, JOB_STATE_SUCCEEDED));
    Connection *catalog = fixture_begin(store);
    expect_ok(jobs_expire(catalog, TENANT_DEFAULT, 604800 + 59, 100, &count));
    assert_int_equal(count, 0); /* seven days, and a minute that a stamp may be too early */
    expect_ok(jobs_expire(catalog, TENANT_DEFAULT, 604800 + 60, 3, &count));
    assert_int_equal(count, 3);
    expect_ok(tenants_set_retention(catalog, TENANT_DEFAULT, 60));
    expect_ok(jobs_expire(catalog, TENANT_DEFAULT, 120, 100, &count));
    assert_int_equal(count, JOBS - 3); /* and not the one that ended ten seconds later */
    expect_ok(jobs_expire(catalog, TENANT_DEFAULT, 129, 100, &count));
    assert_int_equal(count, 0);
    expect_ok(tenants_set_retention(catalog, TENANT_DEFAULT, 0));
    expect_ok(jobs_expire(catalog, TENANT_DEFAULT, 9, 100, &count));
    assert_int_equal(count, 0);
    expect_ok(jobs_expire(catalog, TENANT_DEFAULT, 10, 100, &count));
    assert_int_equal(count, 1);
    expect_ok(fixture_end(NULL));
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, running).state, JOB_STATE_QUEUED);
    fixture_expect_clean(store);
}

TEST_GROUP(jobs_remove, cmocka_unit_test(test_jobs_remove_takes_everything_of_a_job),
    cmocka_unit_test(test_jobs_tombstones_stay_and_lose_their_data),
    cmocka_unit_test(test_jobs_expire_after_the_tenants_retention))
