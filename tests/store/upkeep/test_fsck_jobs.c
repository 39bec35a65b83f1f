#include <string.h>

#include "tests/store/job_fixtures.h"

static void expect_one_error(const TestHome *home, const char *sql, const char *text) {
    TestHome OWN_HOME(damaged) = fixture_home_make();
    fixture_home_copy(home, &damaged);
    fixture_run_sql(&damaged, strstr(sql, "FROM chunks") ? "chunks.db" : "catalog.db", sql);
    OWN(Store, store) = fixture_open(&damaged);
    OWN(FsckResult, result) = NULL;
    expect_ok(fsck_run(store, NULL, &result));
    if (result->error_count != 1)
        fail_msg("%s: %llu errors, %s", sql, (unsigned long long)result->error_count,
            result->error_count ? result->errors[0] : "");
    if (!strstr(result->errors[0], text)) fail_msg("%s: %s", sql, result->errors[0]);
}

static void test_fsck_finds_damage_in_jobs(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    {
        OWN(Store, store) = fixture_open(&home);
        OWN(ChunkUpload, upload) = NULL;
        OWN(FsckResult, result) = NULL;
        ChunkRef ref;
        int64_t number;
        JobId id = fixture_submit(store, TENANT_DEFAULT);
        expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
        JobContent content = fixture_chunk_content(upload, TENANT_DEFAULT, 500, &ref);
        expect_ok(fixture_add_output(store, id, 0, "o"));
        expect_ok(fixture_end(job_checkpoints_add(
            fixture_begin(store), TENANT_DEFAULT, id, &content, 1, 1, 1, &number)));
        expect_ok(fsck_run(store, NULL, &result));
        assert_int_equal(result->error_count, 0);
        assert_int_equal(result->contents, 3);
        assert_int_equal(result->orphan_chunks, 0);
    }
    static const char counts[] = "what it counts is not what is there";
    expect_one_error(&home, "UPDATE contents SET bytes = x'00' WHERE kind = 1", "inputs 0");
    expect_one_error(&home, "DELETE FROM content_lists", "checkpoint 1: catalog.db: 0 references");
    expect_one_error(&home, "UPDATE chunk_lists SET digest = zeroblob(32)",
        "list of chunks 1: it is not what its digest names");
    expect_one_error(
        &home, "DELETE FROM chunks WHERE id = (SELECT max(id) FROM chunks)", "checkpoint 1: chunk");
    expect_one_error(&home, "UPDATE jobs SET event_count = 9", counts);
    expect_one_error(&home, "UPDATE jobs SET output_count = 3", counts);
    expect_one_error(
        &home, "UPDATE tenants SET bytes_stored = 5", "tenant default: what it counts");
    expect_one_error(&home, "DELETE FROM job_events WHERE sequence = 2", counts);
    expect_one_error(&home,
        "PRAGMA ignore_check_constraints = 1; UPDATE contents SET kind = 9 WHERE kind = 3; "
        "UPDATE tenants SET checkpoints = 0 WHERE checkpoints > 0",
        "kind");
    expect_one_error(&home, "UPDATE tenants SET checkpoints = 7", "what it counts");
}

TEST_GROUP(fsck_jobs, cmocka_unit_test(test_fsck_finds_damage_in_jobs))
