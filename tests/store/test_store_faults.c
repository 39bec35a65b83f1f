/* Every write, sync, truncation, deletion and opening of a file is, one after the other, the one at
 * which the process is killed or the power is cut, and every third the one at which the disk fails
 * (fault_scenarios.c); afterwards the home has the old state or the new one. */
#include "store/database/transaction.h"
#include "tests/store/fault_scenarios.h"
#include "tests/store/store_fixtures.h"

enum {
    CHUNK_BYTES = 700,
    LONG_CHUNK_BYTES = 70000, /* beyond a page */
};

static Error *nothing(Store *store) {
    (void)store;
    return NULL;
}

static Error *two_models(Store *store) {
    TRY(fixture_register(store, TENANT_DEFAULT, "a", 1, 3, CHUNK_BYTES, "prod", NULL));
    TRY(fixture_register(store, TENANT_DEFAULT, "a", 2, 4, CHUNK_BYTES, NULL, NULL));
    return fixture_register(store, TENANT_DEFAULT, "b", 10, 2, CHUNK_BYTES, "prod", NULL);
}

static Error *two_models_and_garbage(Store *store) {
    TRY(two_models(store));
    TRY(fixture_register(store, TENANT_DEFAULT, "c", 20, 4, LONG_CHUNK_BYTES, NULL, NULL));
    return models_remove(store, TENANT_DEFAULT, "c", NULL);
}

static Error *register_version(Store *store) {
    return fixture_register(store, TENANT_DEFAULT, "a", 3, 5, CHUNK_BYTES, "prod", NULL);
}

static Error *register_model(Store *store) {
    return fixture_register(store, TENANT_DEFAULT, "d", 30, 2, LONG_CHUNK_BYTES, "new", NULL);
}

static Error *remove_version(Store *store) {
    return models_remove(store, TENANT_DEFAULT, "a@prod", NULL);
}

static Error *remove_model(Store *store) { return models_remove(store, TENANT_DEFAULT, "a", NULL); }

static Error *set_alias(Store *store) {
    return models_set_alias(store, TENANT_DEFAULT, "a", "prod", 2);
}

static Error *collect(Store *store) {
    GcResult result;
    return gc_run(store, &result);
}

static Error *upload_only(Store *store) {
    OWN(ChunkUpload, upload) = NULL;
    TRY(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    TRY(fixture_upload(upload, 40, 6, CHUNK_BYTES));
    return chunk_upload_flush(upload);
}

static Error *put_unsynced(Store *store, uint32_t seed) {
    Transaction OWN_TRANSACTION(transaction) = {0};
    ByteWriter OWN_BYTES(stored) = {0};
    ChunkRef ref;
    fixture_make_chunk(seed, CHUNK_BYTES, &ref, &stored);
    TRY(transaction_begin(store, DATABASE_CHUNKS, &transaction));
    {
        Query OWN_QUERY(query) = query_start(transaction.connection, STATEMENT_INSERT_CHUNK);
        query_bind_i64(&query, 1, TENANT_DEFAULT);
        query_bind_digest(&query, 2, &ref.hash);
        query_bind_i64(&query, 3, ref.raw_size);
        query_bind_blob(&query, 4, stored.data, stored.size);
        TRY(query_run(&query));
    }
    return transaction_commit_unsynced(&transaction);
}

/* Another upload has put the chunks and has not flushed: whoever finds them makes them durable
 * before a catalog refers to them, and the power may be cut later. */
static Error *register_what_was_found(Store *store) {
    TRY(put_unsynced(store, 50));
    TRY(put_unsynced(store, 51));
    TRY(fixture_register(store, TENANT_DEFAULT, "e", 50, 2, CHUNK_BYTES, NULL, NULL));
    error_free(put_unsynced(store, 52)); /* nobody refers to it */
    return NULL;
}

static const FaultScenario scenarios[] = {
    {"create", NULL, nothing, NULL},
    {"open", two_models, nothing, NULL},
    {"register a version", two_models, register_version, NULL},
    {"register a model", two_models, register_model, NULL},
    {"remove a version", two_models, remove_version, NULL},
    {"remove a model", two_models, remove_model, NULL},
    {"set an alias", two_models, set_alias, NULL},
    {"gc", two_models_and_garbage, collect, NULL},
    {"upload", two_models, upload_only, NULL},
    {"register what was found", two_models, register_what_was_found, NULL},
};

static void run_scenarios(KvfsFault fault, bool forever) {
    TEST_OF_ONE_THREAD();
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        fault_scenario_run(&scenarios[i], fixture_print_state, fault, forever);
}

static void test_store_survives_a_kill_at_every_operation(void **state) {
    (void)state;
    run_scenarios(KVFS_KILL, false);
}

static void test_store_survives_a_power_cut_at_every_operation(void **state) {
    (void)state;
    run_scenarios(KVFS_POWER, false);
}

static void test_store_is_unchanged_by_a_full_disk(void **state) {
    (void)state;
    run_scenarios(KVFS_FULL, true);
}

static void test_store_is_unchanged_by_short_writes(void **state) {
    (void)state;
    run_scenarios(KVFS_SHORT, false);
}

static void test_store_survives_failing_writes(void **state) {
    (void)state;
    run_scenarios(KVFS_IO, false);
}

static void test_store_survives_failing_syncs(void **state) {
    (void)state;
    run_scenarios(KVFS_SYNC, false);
}

static void test_store_survives_failing_reads(void **state) {
    (void)state;
    run_scenarios(KVFS_READ, false);
}

/* A sync that works again proves nothing: the kernel may have dropped what it could not write. */
static void test_store_writes_nothing_more_after_a_failed_sync(void **state) {
    (void)state;
    kvfs_install();
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    expect_ok(two_models(store));
    kvfs_arm(KVFS_SYNC, 1, false, 0);
    expect_error(set_alias(store), ERROR_IO, "failed to sync");
    kvfs_arm(KVFS_NONE, 0, false, 0);
    expect_error(set_alias(store), ERROR_IO, "failed to sync before");
    expect_error(upload_only(store), ERROR_IO, "failed to sync before");
    GcResult result;
    expect_error(gc_run(store, &result), ERROR_IO, "failed to sync before");
    ModelVersion OWN_VERSION(version) = {0};
    expect_ok(models_find(store, TENANT_DEFAULT, "a@prod", &version));
    assert_int_equal(version.version, 1);
    store_close(TAKE(store));
    store = fixture_open(&home);
    expect_ok(set_alias(store));
    fixture_expect_clean(store);
}

static void test_store_says_when_the_disk_is_full(void **state) {
    (void)state;
    kvfs_install();
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    kvfs_arm(KVFS_FULL, 1, true, 0);
    expect_error(two_models(store), ERROR_EXHAUSTED, "chunks.db: no space left on the disk");
    kvfs_arm(KVFS_NONE, 0, false, 0);
    expect_ok(two_models(store)); /* somebody made room */
}

TEST_GROUP(store_faults, cmocka_unit_test(test_store_survives_a_kill_at_every_operation),
    cmocka_unit_test(test_store_survives_a_power_cut_at_every_operation),
    cmocka_unit_test(test_store_is_unchanged_by_a_full_disk),
    cmocka_unit_test(test_store_is_unchanged_by_short_writes),
    cmocka_unit_test(test_store_survives_failing_writes),
    cmocka_unit_test(test_store_survives_failing_syncs),
    cmocka_unit_test(test_store_survives_failing_reads),
    cmocka_unit_test(test_store_writes_nothing_more_after_a_failed_sync),
    cmocka_unit_test(test_store_says_when_the_disk_is_full))
