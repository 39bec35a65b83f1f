#include "store/chunks/chunk_lists.h"

#include "store/upkeep/fsck.h"
#include "store/upkeep/gc.h"
#include "tests/store/job_fixtures.h"

enum { COUNT = 400, SIZE = 50, SEED = 9000 };

static int64_t count_rows(const TestHome *home, const char *table) {
    char sql[80];
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    return fixture_read_sql(home, "catalog.db", sql);
}

/* A checkpoint of COUNT chunks; the one at changed is another than in the first. */
static JobContent stage(ChunkUpload *upload, size_t changed, ChunkRef refs[COUNT]) {
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t seed = SEED + i + (i == changed ? COUNT : 0);
        expect_ok(fixture_upload(upload, seed, 1, SIZE));
        fixture_make_chunk(seed, SIZE, &refs[i], NULL);
    }
    JobContent content = {.bytes = "many", .size = 4, .chunks = refs, .chunk_count = COUNT};
    expect_ok(job_content_stage(upload, TENANT_DEFAULT, &content));
    return content;
}

static int64_t add(Store *store, JobId id, size_t changed, int64_t keep) {
    OWN(ChunkUpload, upload) = NULL;
    ChunkRef refs[COUNT];
    int64_t number;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    JobContent content = stage(upload, changed, refs);
    expect_ok(fixture_end(job_checkpoints_add(
        fixture_begin(store), TENANT_DEFAULT, id, &content, 0, 0, keep, &number)));
    return number;
}

static void expect_chunks(Store *store, JobId id, int64_t number, size_t changed) {
    OWN(StoredContent, content) = NULL;
    size_t count;
    expect_ok(
        stored_content_open(store, TENANT_DEFAULT, id, JOB_CONTENT_CHECKPOINT, number, &content));
    const ChunkRef *refs = stored_content_chunks(content, &count);
    assert_int_equal(count, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        ChunkRef expected;
        fixture_make_chunk(SEED + i + (i == changed ? COUNT : 0), SIZE, &expected, NULL);
        assert_true(digest_equal(&refs[i].hash, &expected.hash));
        assert_int_equal(refs[i].raw_size, SIZE);
    }
}

/* Rows are written for what has changed, a fork writes none, and what nothing has goes with gc. */
static void test_chunk_lists_are_shared(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    GcResult result;
    JobId fork;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    assert_int_equal(add(store, id, COUNT, 2), 1);
    int64_t lists = count_rows(&home, "chunk_lists");
    assert_int_equal(count_rows(&home, "list_chunks"), COUNT);
    assert_in_range(lists, COUNT / 16, COUNT / 4);
    assert_int_equal(add(store, id, 200, 2), 2);
    int64_t more = count_rows(&home, "list_chunks") - COUNT;
    assert_in_range(more, 1, 2 * CHUNK_LIST_LENGTH_MAX); /* at most two lists are one, or one two */
    expect_chunks(store, id, 1, COUNT);
    expect_chunks(store, id, 2, 200);
    expect_ok(fixture_fork(store, id, 1, &fork));
    expect_chunks(store, fork, 1, COUNT);
    assert_int_equal(count_rows(&home, "list_chunks"), COUNT + more);
    fixture_expect_clean(store);
    /* The first one's own list and chunk stay for the fork; the second's go with it. */
    assert_int_equal(add(store, id, COUNT, 1), 3);
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.chunks, 1);
    assert_int_equal(count_rows(&home, "chunk_lists"), lists);
    assert_int_equal(count_rows(&home, "list_chunks"), COUNT);
    expect_chunks(store, id, 3, COUNT);
    expect_chunks(store, fork, 1, COUNT);
    fixture_expect_clean(store);
}

/* Chunks of which none ends a list: it ends when it is full. */
static void test_chunk_lists_have_an_end(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    ChunkRef refs[COUNT];
    int64_t number;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    uint32_t seed = SEED;
    while (fixture_make_chunk(seed, SIZE, &refs[0], NULL), refs[0].hash.bytes[0] % 8 == 0) seed++;
    expect_ok(fixture_upload(upload, seed, 1, SIZE));
    for (size_t i = 1; i < COUNT; i++) refs[i] = refs[0];
    JobContent content = {.bytes = "one", .size = 3, .chunks = refs, .chunk_count = COUNT};
    expect_ok(job_content_stage(upload, TENANT_DEFAULT, &content));
    expect_ok(fixture_end(
        job_checkpoints_add(fixture_begin(store), TENANT_DEFAULT, id, &content, 0, 0, 1, &number)));
    assert_int_equal(
        fixture_read_sql(&home, "catalog.db",
            "SELECT max(n) FROM (SELECT count(*) AS n FROM list_chunks GROUP BY list)"),
        CHUNK_LIST_LENGTH_MAX);
    /* 64 times the chunk, and what is left: lists that are equal are one */
    assert_int_equal(count_rows(&home, "chunk_lists"), 2);
    assert_int_equal(count_rows(&home, "content_lists"), COUNT / CHUNK_LIST_LENGTH_MAX + 1);
    fixture_expect_clean(store);
}

/* What version 5 stored, a row of each content for each chunk. */
static const char to_version_5[] =
    "CREATE TABLE content_chunks (tenant INTEGER NOT NULL REFERENCES tenants (id),"
    " content INTEGER NOT NULL REFERENCES contents (id) ON DELETE CASCADE,"
    " position INTEGER NOT NULL, hash BLOB NOT NULL, raw_size INTEGER NOT NULL,"
    " PRIMARY KEY (content, position)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX content_chunks_by_hash ON content_chunks (tenant, hash);"
    "INSERT INTO content_chunks SELECT c.tenant, l.content, l.position * 64 + c.position, c.hash,"
    " c.raw_size FROM content_lists l JOIN list_chunks c ON c.list = l.list;"
    "UPDATE content_chunks SET position = (SELECT count(*) FROM content_chunks o WHERE"
    " o.content = content_chunks.content AND o.position < content_chunks.position);"
    "DROP TABLE content_lists; DROP TABLE list_chunks; DROP TABLE chunk_lists;"
    "DROP INDEX jobs_by_file; DROP TABLE job_removals; DROP TABLE model_removals;"
    "ALTER TABLE tenants DROP COLUMN output_bytes; ALTER TABLE tenants DROP COLUMN checkpoints;"
    "DROP INDEX jobs_finished; ALTER TABLE jobs DROP COLUMN finished_alive;"
    "ALTER TABLE home DROP COLUMN alive_seconds;"
    "CREATE INDEX jobs_finished ON jobs (tenant, finished, state) WHERE state IN (3, 4, 5);"
    "ALTER TABLE models DROP COLUMN unloaded; ALTER TABLE versions DROP COLUMN batch_max;"
    "ALTER TABLE versions DROP COLUMN queue_delay_us;"
    "PRAGMA user_version = 5";

static void test_chunk_lists_take_an_older_store_along(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    GcResult result;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    assert_int_equal(add(store, id, COUNT, 3), 1);
    assert_int_equal(add(store, id, 7, 3), 2);
    JobId done = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, done, JOB_STATE_CANCELLED, NULL)));
    store_close(TAKE(store));
    fixture_run_sql(&home, "catalog.db", to_version_5);
    assert_int_equal(count_rows(&home, "content_chunks"), 2 * COUNT);
    expect_ok(store_open(home.path, 0, &store));
    assert_int_equal(count_rows(&home, "jobs WHERE finished_alive = 0"), 1); /* counts anew */
    expect_chunks(store, id, 1, COUNT);
    expect_chunks(store, id, 2, 7);
    fixture_expect_clean(store);
    assert_int_equal(add(store, id, 7, 1), 3);
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.chunks, 1); /* the first one's */
    assert_int_equal(count_rows(&home, "list_chunks"), COUNT);
    expect_chunks(store, id, 3, 7);
    fixture_expect_clean(store);
}

TEST_GROUP(chunk_lists, cmocka_unit_test(test_chunk_lists_are_shared),
    cmocka_unit_test(test_chunk_lists_have_an_end),
    cmocka_unit_test(test_chunk_lists_take_an_older_store_along))
