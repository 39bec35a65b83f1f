#include <string.h>

#include "tests/store/job_fixtures.h"

static Error *go_back(Store *store, JobId id, int64_t checkpoint, int64_t keep) {
    return fixture_end(jobs_go_back(fixture_begin(store), TENANT_DEFAULT, id, checkpoint, keep));
}

static void suspend(Store *store, JobId id) {
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_SUSPENDED, NULL)));
}

/* The older one becomes the newest; its chunks are its own, and the ones behind it stay. */
static void test_jobs_go_back_makes_an_older_checkpoint_the_newest(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    ChunkRef ref;
    int64_t number;
    JobCheckpoint newest;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(fixture_add_output(store, id, 0, "zero"));
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    JobContent content = fixture_chunk_content(upload, TENANT_DEFAULT, 500, &ref);
    expect_ok(fixture_end(
        job_checkpoints_add(fixture_begin(store), TENANT_DEFAULT, id, &content, 4, 1, 5, &number)));
    chunk_upload_close(TAKE(upload));
    expect_ok(fixture_add_output(store, id, 1, "one"));
    expect_ok(fixture_add_checkpoint(store, id, "second", 6, 2, 5, &number));
    expect_error(go_back(store, id, 1, 5), ERROR_CONFLICT, "is queued");
    suspend(store, id);
    expect_error(go_back(store, id, 3, 5), ERROR_NOT_FOUND, "no checkpoint 3");
    expect_ok(go_back(store, id, 1, 5));
    expect_ok(job_checkpoints_get(store, TENANT_DEFAULT, id, 0, &newest));
    assert_int_equal(newest.number, 3);
    assert_int_equal(newest.items_done, 4);
    assert_int_equal(newest.outputs, 1);
    /* outputs stay: what comes again is compared with them */
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, id).output_count, 2);
    expect_ok(go_back(store, id, 3, 5)); /* it is the newest: nothing to do */
    expect_ok(go_back(store, id, 2, 1)); /* the others go */
    expect_error(job_checkpoints_get(store, TENANT_DEFAULT, id, 3, &newest), ERROR_NOT_FOUND, "3");
    assert_string_equal(
        fixture_read_text(store, TENANT_DEFAULT, id, JOB_CONTENT_CHECKPOINT, 4), "second");
    GcResult result;
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.chunks, 1); /* the first checkpoint's */
    fixture_expect_clean(store);
}

TEST_GROUP(jobs_go_back, cmocka_unit_test(test_jobs_go_back_makes_an_older_checkpoint_the_newest))
