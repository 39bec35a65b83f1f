#include <string.h>

#include "tests/store/job_fixtures.h"

/* A job that has one output of one chunk. */
static JobId submit_with_chunk(Store *store) {
    OWN(ChunkUpload, upload) = NULL;
    ChunkRef ref;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    JobContent content = fixture_chunk_content(upload, TENANT_DEFAULT, 500, &ref);
    expect_ok(fixture_end(
        job_outputs_add(fixture_begin(store), TENANT_DEFAULT, id, 0, &content, 1, 1, NULL)));
    return id;
}

static Error *open_output(Store *store, JobId id, StoredContent **out) {
    return stored_content_open(store, TENANT_DEFAULT, id, JOB_CONTENT_OUTPUT, 0, out);
}

static void end_and_remove(Store *store, JobId id) {
    Connection *catalog = fixture_begin(store);
    expect_ok(jobs_transition(catalog, TENANT_DEFAULT, id, JOB_STATE_FAILED, NULL));
    expect_ok(jobs_remove(catalog, TENANT_DEFAULT, id));
    expect_ok(fixture_end(NULL));
}

static void test_stored_content_stays_readable_while_it_is_open(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(StoredContent, content) = NULL;
    GcResult result;
    size_t count;
    uint8_t raw[900], expected[900];
    JobId id = submit_with_chunk(store);
    expect_ok(open_output(store, id, &content));
    end_and_remove(store, id);
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.chunks, 0);
    const ChunkRef *refs = stored_content_chunks(content, &count);
    assert_int_equal(count, 1);
    expect_ok(chunk_read_data(
        NULL, &(ChunkRun){refs, 1, raw}, 1, CHUNK_VERIFY_SHA256, stored_content_source(content)));
    fixture_make_raw(500, sizeof expected, expected);
    assert_memory_equal(raw, expected, sizeof raw);
    stored_content_close(TAKE(content));
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.chunks, 1);
}

static void test_stored_content_says_what_is_missing(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(StoredContent, content) = NULL;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_error(open_output(store, id, &content), ERROR_NOT_FOUND, "has no output 0");
    expect_error(
        stored_content_open(store, TENANT_DEFAULT, id, JOB_CONTENT_CHECKPOINT, 1, &content),
        ERROR_NOT_FOUND, "has no checkpoint 1");
    Connection *catalog = fixture_begin(store);
    expect_ok(jobs_transition(catalog, TENANT_DEFAULT, id, JOB_STATE_RELEASED, NULL));
    expect_ok(jobs_drop_contents(catalog, TENANT_DEFAULT, id));
    expect_ok(fixture_end(NULL));
    expect_error(stored_content_open(store, TENANT_DEFAULT, id, JOB_CONTENT_INPUTS, 0, &content),
        ERROR_NOT_FOUND, "has no inputs any more");
}

static void test_stored_content_refuses_changed_bytes(void **state) {
    (void)state;
    static const char *const damage[] = {"UPDATE contents SET bytes = x'01' WHERE kind = 2",
        "UPDATE contents SET bytes = x'6368756e6b', chunk_count = 2 WHERE kind = 2",
        "UPDATE contents SET chunk_count = 1; UPDATE list_chunks SET raw_size = 899"};
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(StoredContent, content) = NULL;
    JobId id = submit_with_chunk(store);
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        fixture_run_sql(&home, "catalog.db", damage[i]);
        expect_error(open_output(store, id, &content), ERROR_CORRUPT, "catalog.db");
    }
    /* Whole again, but its chunk is gone. */
    fixture_run_sql(&home, "catalog.db", "UPDATE list_chunks SET raw_size = 900");
    expect_ok(open_output(store, id, &content));
    stored_content_close(TAKE(content));
    store_close(TAKE(store));
    fixture_run_sql(&home, "chunks.db", "DELETE FROM chunks");
    expect_ok(store_open(home.path, 0, &store));
    expect_error(open_output(store, id, &content), ERROR_CORRUPT, "job ");
}

TEST_GROUP(stored_content, cmocka_unit_test(test_stored_content_stays_readable_while_it_is_open),
    cmocka_unit_test(test_stored_content_says_what_is_missing),
    cmocka_unit_test(test_stored_content_refuses_changed_bytes))
