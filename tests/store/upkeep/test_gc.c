#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/store/store_fixtures.h"

enum { BYTES = 900, LONG_BYTES = CHUNK_SIZE, LONG_CHUNKS = 24 };

static GcResult collect(Store *store) {
    GcResult result;
    expect_ok(gc_run(store, &result));
    return result;
}

static void test_gc_deletes_only_what_nobody_refers_to(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    /* Seeds 1 to 10 and 4 to 13: seven chunks are shared. */
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 10, BYTES, NULL, NULL));
    expect_ok(fixture_register(store, TENANT_DEFAULT, "b", 4, 10, BYTES, NULL, NULL));
    assert_int_equal(collect(store).chunks, 0);
    assert_int_equal(gc_estimate_bytes(store), 0);
    expect_ok(models_remove(store, TENANT_DEFAULT, "a", NULL));
    assert_true(gc_estimate_bytes(store) > 10 * BYTES);
    GcResult result = collect(store);
    assert_int_equal(gc_estimate_bytes(store), 0);
    assert_int_equal(result.chunks, 3);
    assert_true(result.bytes > 3 * BYTES && result.bytes < 4 * BYTES);
    assert_int_equal(fixture_read_sql(&home, "chunks.db", "SELECT count(*) FROM chunks"), 10);
    fixture_expect_clean(store);
}

/* More than one batch, and the batches' seams. */
static void test_gc_walks_every_chunk(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 0, 512, 20, NULL, NULL));
    expect_ok(fixture_register(store, TENANT_DEFAULT, "b", 1000, 300, 20, NULL, NULL));
    expect_ok(models_remove(store, TENANT_DEFAULT, "a", NULL));
    assert_int_equal(collect(store).chunks, 512);
    assert_int_equal(collect(store).chunks, 0);
    expect_ok(models_remove(store, TENANT_DEFAULT, "b", NULL));
    assert_int_equal(collect(store).chunks, 300);
    assert_int_equal(fixture_read_sql(&home, "chunks.db", "SELECT count(*) FROM chunks"), 0);
}

static void test_gc_spares_open_uploads(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 2, BYTES, NULL, NULL));
    OWN(ChunkUpload, upload) = NULL;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    expect_ok(fixture_upload(upload, 1, 5, BYTES)); /* finds two, puts three */
    expect_ok(chunk_upload_flush(upload));
    expect_ok(models_remove(store, TENANT_DEFAULT, "a", NULL));
    assert_int_equal(collect(store).chunks, 0);
    TestExecutable executable;
    ModelVersion OWN_VERSION(version) = {0};
    fixture_make_executable(1, 5, BYTES, &executable);
    expect_ok(models_register(upload, "b", &executable.content, NULL, 0, &version, NULL));
    chunk_upload_close(TAKE(upload));
    assert_int_equal(collect(store).chunks, 0);
    fixture_expect_clean(store);
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    expect_ok(fixture_upload(upload, 50, 5, BYTES));
    expect_ok(chunk_upload_flush(upload));
    chunk_upload_close(TAKE(upload)); /* given up */
    assert_int_equal(collect(store).chunks, 5);
}

static void test_gc_gives_space_back_to_the_file_system(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, LONG_CHUNKS, LONG_BYTES, NULL, NULL));
    expect_ok(fixture_register(store, TENANT_DEFAULT, "b", 90, 2, LONG_BYTES, NULL, NULL));
    expect_ok(models_remove(store, TENANT_DEFAULT, "a", NULL));
    assert_int_equal(collect(store).chunks, LONG_CHUNKS);
    fixture_expect_clean(store);
    store_close(TAKE(store));
    struct stat status;
    assert_int_equal(stat(fixture_path(&home, "chunks.db"), &status), 0);
    assert_true(status.st_size < 5 * LONG_BYTES);
}

/* Registering, removing, loading and collecting at once; nothing that is registered ever misses a
 * chunk. */
typedef struct BusyThread {
    Store *store;
    uint32_t number;
    Error *error;
} BusyThread;

enum { ROUNDS = 25, THREADS = 3 };

static Error *load(Store *store, const char *name) {
    ModelVersion OWN_VERSION(version) = {0};
    OWN(StoredExecutable, executable) = NULL;
    TRY(models_find(store, TENANT_DEFAULT, name, &version));
    TRY(stored_executable_open(store, TENANT_DEFAULT, &version.executable, &executable));
    size_t count;
    const ChunkRef *chunks = stored_executable_chunks(executable, &count);
    void *raw;
    TRY(memory_alloc(count, BYTES, &raw));
    Error *error = chunk_read_data(NULL, &(ChunkRun){chunks, count, raw}, 1, CHUNK_VERIFY_SHA256,
        stored_executable_source(executable));
    memory_free(raw);
    return error;
}

static Error *register_and_remove(BusyThread *thread) {
    char name[16];
    (void)snprintf(name, sizeof name, "m%u", thread->number);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        /* All threads' contents overlap: what one removes another is about to find. */
        TRY(fixture_register(
            thread->store, TENANT_DEFAULT, name, i % 5 + thread->number, 6, BYTES, NULL, NULL));
        TRY(load(thread->store, name));
        TRY(models_remove(thread->store, TENANT_DEFAULT, name, NULL));
    }
    return NULL;
}

static void *be_busy(void *context) {
    BusyThread *thread = context;
    if (thread->number < THREADS) {
        thread->error = register_and_remove(thread);
        return NULL;
    }
    for (uint32_t i = 0; i < 2 * ROUNDS && !thread->error; i++) {
        GcResult result;
        thread->error = gc_run(thread->store, &result);
    }
    return NULL;
}

static void test_gc_runs_beside_uploads_and_loads(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    pthread_t threads[THREADS + 1];
    BusyThread work[THREADS + 1];
    for (uint32_t i = 0; i <= THREADS; i++) {
        work[i] = (BusyThread){store, i, NULL};
        assert_int_equal(pthread_create(&threads[i], NULL, be_busy, &work[i]), 0);
    }
    for (uint32_t i = 0; i <= THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        expect_ok(work[i].error);
    }
    fixture_expect_clean(store);
    (void)collect(store);
    assert_int_equal(fixture_read_sql(&home, "chunks.db", "SELECT count(*) FROM chunks"), 0);
}

TEST_GROUP(gc, cmocka_unit_test(test_gc_deletes_only_what_nobody_refers_to),
    cmocka_unit_test(test_gc_walks_every_chunk), cmocka_unit_test(test_gc_spares_open_uploads),
    cmocka_unit_test(test_gc_gives_space_back_to_the_file_system),
    cmocka_unit_test(test_gc_runs_beside_uploads_and_loads))
