#include <string.h>

#include "store/contents/job_content_internal.h"
#include "store/database/row_costs.h"
#include "tests/store/job_fixtures.h"

static void test_job_content_digest_tells_contents_apart(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    ChunkRef refs[2];
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    JobContent a = fixture_chunk_content(upload, TENANT_DEFAULT, 1, &refs[0]);
    JobContent b = fixture_chunk_content(upload, TENANT_DEFAULT, 2, &refs[1]);
    JobContent again = fixture_chunk_content(upload, TENANT_DEFAULT, 1, &refs[0]);
    JobContent plain = fixture_content(TENANT_DEFAULT, "chunk");
    assert_true(digest_equal(&a.digest, &again.digest));
    assert_false(digest_equal(&a.digest, &b.digest));
    assert_false(digest_equal(&a.digest, &plain.digest));
    assert_int_equal(a.bytes_raw, 905);
    assert_true(a.bytes_stored > 905 + ROW_COST_CONTENT && a.bytes_stored < 1400);
}

static void test_job_content_counts_a_chunk_once(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    ChunkRef refs[3];
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    JobContent one = fixture_chunk_content(upload, TENANT_DEFAULT, 1, &refs[0]);
    refs[1] = refs[2] = refs[0];
    JobContent three = {.bytes = "chunk", .size = 5, .chunks = refs, .chunk_count = 3};
    expect_ok(job_content_stage(upload, TENANT_DEFAULT, &three));
    assert_int_equal(three.bytes_stored, one.bytes_stored + 2 * ROW_COST_CHUNK);
    assert_int_equal(three.bytes_raw, 5 + 3 * 900);
}

static void test_job_content_refuses_chunks_that_nobody_uploaded(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    OWN(ChunkUpload, other) = NULL;
    TenantId ada = fixture_add_tenant(store, "ada");
    ChunkRef ref;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    expect_ok(chunk_upload_open(store, ada, &other));
    JobContent hers = fixture_chunk_content(other, ada, 5, &ref);
    JobContent content = {.bytes = "", .chunks = hers.chunks, .chunk_count = 1};
    /* Another tenant's chunk is not there, whatever its hash. */
    expect_error(job_content_stage(upload, TENANT_DEFAULT, &content), ERROR_CORRUPT,
        "neither in the store nor");
    assert_int_equal(content.tenant, 0);
    content = (JobContent){.bytes = "", .size = JOB_CONTENT_BYTES_MAX + 1};
    expect_error(
        job_content_stage(NULL, TENANT_DEFAULT, &content), ERROR_INVALID, "67108865 bytes");
}

TEST_GROUP(job_content, cmocka_unit_test(test_job_content_digest_tells_contents_apart),
    cmocka_unit_test(test_job_content_counts_a_chunk_once),
    cmocka_unit_test(test_job_content_refuses_chunks_that_nobody_uploaded))
