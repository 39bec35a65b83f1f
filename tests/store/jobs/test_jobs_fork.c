#include <string.h>

#include "tests/store/job_fixtures.h"

static void test_jobs_fork_begins_where_the_checkpoint_stands(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    ChunkRef ref;
    int64_t number;
    JobId fork;
    ByteWriter OWN_BYTES(policy) = {0};
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_error(fixture_fork(store, id, 0, &fork), ERROR_NOT_FOUND, "has no checkpoint");
    expect_ok(fixture_add_output(store, id, 0, "zero"));
    expect_ok(fixture_add_output(store, id, 1, "one"));
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    JobContent content = fixture_chunk_content(upload, TENANT_DEFAULT, 500, &ref);
    expect_ok(fixture_end(
        job_checkpoints_add(fixture_begin(store), TENANT_DEFAULT, id, &content, 4, 2, 5, &number)));
    expect_ok(fixture_add_output(store, id, 2, "two"));
    expect_ok(fixture_add_checkpoint(store, id, "second", 6, 3, 5, &number));
    expect_ok(fixture_fork(store, id, 1, &fork));
    Job job = fixture_get(store, TENANT_DEFAULT, fork);
    assert_int_equal(job.items_done, 4);
    assert_int_equal(job.output_count, 2);
    assert_int_equal(job.state, JOB_STATE_QUEUED);
    assert_int_equal(job.origin.kind, JOB_ORIGIN_FORK);
    assert_true(job_id_equal(job.origin.job, id));
    assert_string_equal(
        fixture_read_text(store, TENANT_DEFAULT, fork, JOB_CONTENT_INPUTS, 0), "inputs");
    assert_string_equal(
        fixture_read_text(store, TENANT_DEFAULT, fork, JOB_CONTENT_OUTPUT, 1), "one");
    expect_ok(jobs_get_policy(store, TENANT_DEFAULT, fork, &policy));
    assert_memory_equal(policy.data, "policy", 6);
    /* The chunks are the fork's own: the first job may go. */
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_CANCELLED, NULL)));
    expect_ok(fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, id)));
    chunk_upload_close(TAKE(upload));
    GcResult result;
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.chunks, 0);
    TextBuilder OWN_TEXT(text) = {0};
    fixture_print_jobs(store, &text);
    assert_non_null(strstr(text.data, "; 3.1 chunk+900"));
    assert_non_null(strstr(text.data, ": state queued 0-2; 1.0 inputs; 2.0 zero; 2.1 one;"));
    /* Its numbers go on behind the checkpoint's. */
    expect_ok(fixture_add_checkpoint(store, fork, "next", 5, 2, 5, &number));
    assert_int_equal(number, 2);
    fixture_expect_clean(store);
}

static void test_jobs_fork_takes_the_newest_unless_told(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    int64_t number;
    JobId fork, id = fixture_submit(store, TENANT_DEFAULT);
    for (int64_t i = 1; i <= 3; i++) {
        char text[8];
        (void)snprintf(text, sizeof text, "c%lld", (long long)i);
        expect_ok(fixture_add_checkpoint(store, id, text, i, 0, 2, &number));
    }
    expect_ok(fixture_fork(store, id, 0, &fork));
    assert_string_equal(
        fixture_read_text(store, TENANT_DEFAULT, fork, JOB_CONTENT_CHECKPOINT, 3), "c3");
    expect_error(fixture_fork(store, id, 1, &fork), ERROR_NOT_FOUND, "has no checkpoint 1");
    expect_error(fixture_fork(store, id, 4, &fork), ERROR_NOT_FOUND, "has no checkpoint 4");
    expect_error(fixture_fork(store, id, -1, &fork), ERROR_NOT_FOUND, "has no checkpoint -1");
    expect_error(fixture_fork(store, id, INT64_MAX, &fork), ERROR_NOT_FOUND, "has no checkpoint");
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_RELEASED, NULL)));
    expect_error(fixture_fork(store, id, 0, &fork), ERROR_CONFLICT, "is released");
    fixture_expect_clean(store);
}

TEST_GROUP(jobs_fork, cmocka_unit_test(test_jobs_fork_begins_where_the_checkpoint_stands),
    cmocka_unit_test(test_jobs_fork_takes_the_newest_unless_told))
