#include "store/chunks/chunk_drop.h"

#include "tests/store/store_fixtures.h"

enum { BYTES = 1000, CHUNKS = 40 };

static Digest hash_of(uint32_t seed) {
    ByteWriter OWN_BYTES(stored) = {0};
    ChunkRef ref;
    fixture_make_chunk(seed, BYTES, &ref, &stored);
    return ref.hash;
}

/* Chunks that an upload left, among them some of a model and one that is held. */
static void test_chunk_drop_spares_what_is_needed(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    OWN(ChunkUpload, holder) = NULL;
    Digest hashes[CHUNKS + 1];
    expect_ok(fixture_register(store, TENANT_DEFAULT, "m", 0, 2, BYTES, NULL, NULL)); /* 0, 1 */
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    expect_ok(fixture_upload(upload, 0, CHUNKS, BYTES));
    expect_ok(chunk_upload_flush(upload));
    chunk_upload_close(TAKE(upload));
    for (uint32_t i = 0; i <= CHUNKS; i++) /* the last one is not there */
        hashes[i] = hash_of(i);
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &holder));
    expect_ok(fixture_upload(holder, 7, 1, BYTES)); /* found: it is pinned */
    expect_ok(chunk_drop(store, TENANT_DEFAULT, hashes, CHUNKS + 1));
    assert_int_equal(fixture_read_sql(&home, "chunks.db", "SELECT count(*) FROM chunks"), 3);
    chunk_upload_close(TAKE(holder));
    expect_ok(chunk_drop(store, TENANT_DEFAULT, hashes, CHUNKS + 1));
    assert_int_equal(fixture_read_sql(&home, "chunks.db", "SELECT count(*) FROM chunks"), 2);
    fixture_expect_clean(store);
}

static void test_chunk_drop_leaves_other_tenants_alone(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    const Digest hash = hash_of(1);
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    expect_ok(fixture_upload(upload, 1, 1, BYTES));
    expect_ok(chunk_upload_flush(upload));
    chunk_upload_close(TAKE(upload));
    expect_ok(chunk_drop(store, TENANT_DEFAULT + 1, &hash, 1));
    assert_int_equal(fixture_read_sql(&home, "chunks.db", "SELECT count(*) FROM chunks"), 1);
    expect_ok(chunk_drop(store, TENANT_DEFAULT, &hash, 1));
    assert_int_equal(fixture_read_sql(&home, "chunks.db", "SELECT count(*) FROM chunks"), 0);
}

TEST_GROUP(chunk_drop, cmocka_unit_test(test_chunk_drop_spares_what_is_needed),
    cmocka_unit_test(test_chunk_drop_leaves_other_tenants_alone))
