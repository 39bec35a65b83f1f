#include "store/database/recent_chunks.h"

#include "store/chunks/chunk_upload.h"
#include "store/upkeep/gc.h"
#include "tests/store/job_fixtures.h"

/* Hashes that share a bucket differ in their last bytes. */
static Digest make_hash(uint8_t bucket, uint8_t number) {
    Digest hash = {{bucket}};
    hash.bytes[DIGEST_SIZE - 1] = number;
    return hash;
}

static bool knows(RecentChunks *chunks, TenantId tenant, Digest hash, uint32_t raw) {
    ChunkSize size;
    if (!recent_chunks_find(chunks, tenant, &hash, &size)) return false;
    assert_true(size.raw == raw && size.stored == 2 * raw);
    return true;
}

static void test_recent_chunks_keeps_the_last_ones(void **state) {
    (void)state;
    OWN(RecentChunks, chunks) = NULL;
    expect_ok(recent_chunks_create(&chunks));
    Digest other = make_hash(7, 1);
    recent_chunks_note(chunks, 1, &other, (ChunkSize){7, 14});
    assert_false(knows(chunks, 2, other, 7)); /* another tenant's */
    for (uint8_t i = 1; i <= 5; i++) {
        Digest hash = make_hash(0, i);
        assert_false(knows(chunks, 1, hash, i));
        recent_chunks_note(chunks, 1, &hash, (ChunkSize){i, 2 * i});
        if (i == 4) { /* the oldest is the newest now */
            hash = make_hash(0, 1);
            recent_chunks_note(chunks, 1, &hash, (ChunkSize){1, 2});
        }
    }
    for (uint8_t i = 1; i <= 5; i++) assert_int_equal(knows(chunks, 1, make_hash(0, i), i), i != 2);
    assert_true(knows(chunks, 1, other, 7));
    Digest forgotten = make_hash(0, 4);
    recent_chunks_forget(chunks, 1, &forgotten);
    for (uint8_t i = 3; i <= 5; i++) assert_int_equal(knows(chunks, 1, make_hash(0, i), i), i != 4);
}

/* What gc has deleted is asked for, not believed. */
static void test_recent_chunks_are_not_those_that_gc_deleted(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    ChunkRef ref;
    GcResult result;
    bool found = false;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    (void)fixture_chunk_content(upload, TENANT_DEFAULT, 500, &ref);
    chunk_upload_close(TAKE(upload));
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    ChunkSink sink = chunk_upload_sink(upload);
    expect_ok(sink.find(sink.self, &ref, 1, &found));
    assert_true(found);
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.chunks, 0); /* it is pinned */
    chunk_upload_close(TAKE(upload));
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.chunks, 1);
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    sink = chunk_upload_sink(upload);
    expect_ok(sink.find(sink.self, &ref, 1, &found));
    assert_false(found);
}

TEST_GROUP(recent_chunks, cmocka_unit_test(test_recent_chunks_keeps_the_last_ones),
    cmocka_unit_test(test_recent_chunks_are_not_those_that_gc_deleted))
