#include <stdatomic.h>

#include "base/allocator.h"
#include "serialize/chunk/chunk.h"
#include "tests/serialize/serialize_fixtures.h"

enum { SMALL = CHUNK_APPEND_SIZE, COUNT = 40, SIZE = COUNT * SMALL - 77 };

static float *data;
static uint8_t *back;
static int setup(void **state) {
    (void)state;
    void *memory[2] = {0};
    assert_ok(memory_alloc(COUNT * SMALL, 1, &memory[0]));
    assert_ok(memory_alloc(COUNT * SMALL, 1, &memory[1]));
    data = memory[0];
    back = memory[1];
    uint64_t seed = 21;
    fixture_fill_normal(&seed, data, COUNT * SMALL / 4, 1);
    /* chunks 3, 4 and 39's neighbours are alike, so that a chunk stands more than once */
    memcpy((char *)data + 4 * SMALL, (char *)data + 3 * SMALL, SMALL);
    memcpy((char *)data + 30 * SMALL, (char *)data + 3 * SMALL, SMALL);
    return 0;
}
static int teardown(void **state) {
    (void)state;
    memory_free(data);
    memory_free(back);
    return 0;
}

static void write_to(MemoryStore *store, uint32_t threads, const ChunkRef *known, ChunkRef *refs) {
    OWN(WorkerPool, pool) = NULL;
    if (threads) assert_ok(worker_pool_create("test", threads, &pool));
    assert_ok(chunk_write_data(pool, data, SIZE, SMALL, CHUNK_FILTER_FLOAT32,
        (KnownChunks){known, known ? COUNT : 0}, memory_store_sink(store), refs));
}

/* At any thread count the sink gets the same chunks, with the same bytes, in the same order. */
static void test_chunk_data_is_written_the_same_by_any_number_of_threads(void **state) {
    (void)state;
    MemoryStore first = {0};
    ChunkRef first_refs[COUNT];
    write_to(&first, 0, NULL, first_refs);
    assert_int_equal(first.count, COUNT - 2); /* each content once */
    for (uint32_t threads = 1; threads <= 30; threads += threads < 4 ? 1 : 13)
        for (int round = 0; round < 5; round++) {
            MemoryStore store = {0};
            ChunkRef refs[COUNT];
            write_to(&store, threads, NULL, refs);
            assert_memory_equal(refs, first_refs, sizeof refs);
            assert_int_equal(store.count, first.count);
            for (size_t i = 0; i < store.count; i++) {
                const ByteWriter *a = memory_store_get(&store, i), *b = memory_store_get(&first, i);
                assert_int_equal(a->size, b->size);
                assert_memory_equal(a->data, b->data, a->size);
            }
            memory_store_deinit(&store);
        }
    memory_store_deinit(&first);
}

static void test_chunk_data_reads_back_in_parallel(void **state) {
    (void)state;
    MemoryStore store = {0};
    ChunkRef refs[COUNT];
    write_to(&store, 3, NULL, refs);
    assert_int_equal(refs[0].raw_size, SMALL);
    assert_int_equal(refs[COUNT - 1].raw_size, SMALL - 77);
    OWN(WorkerPool, pool) = NULL;
    assert_ok(worker_pool_create("test", 3, &pool));
    for (int i = 0; i < 4; i++) {
        memset(back, 0xee, COUNT * SMALL);
        assert_ok(chunk_read_data(i & 1 ? pool : NULL, &(ChunkRun){refs, COUNT, back}, 1,
            i & 2 ? CHUNK_VERIFY_SHA256 : CHUNK_VERIFY_XXH3, memory_store_source(&store)));
        assert_memory_equal(back, data, SIZE);
        assert_int_equal(back[SIZE], 0xee);
    }
    memory_store_deinit(&store);
}

/* Runs of one call go each to their own place, an empty one among them. */
static void test_chunk_data_reads_several_runs_at_once(void **state) {
    (void)state;
    MemoryStore store = {0};
    ChunkRef refs[COUNT];
    write_to(&store, 3, NULL, refs);
    OWN(WorkerPool, pool) = NULL;
    assert_ok(worker_pool_create("test", 3, &pool));
    memset(back, 0xee, COUNT * SMALL);
    uint8_t *upper = back + 4 * SMALL;
    ChunkRun runs[] = {{refs + 4, COUNT - 4, upper}, {refs, 0, NULL}, {refs, 3, back}};
    assert_ok(chunk_read_data(pool, runs, 3, CHUNK_VERIFY_SHA256, memory_store_source(&store)));
    assert_memory_equal(back, data, 3 * SMALL);
    assert_int_equal(back[3 * SMALL], 0xee);
    assert_memory_equal(upper, data + SMALL, SIZE - 4 * SMALL); /* data counts floats */
    memory_store_deinit(&store);
}

/* What is unchanged since it was hashed is neither hashed nor encoded nor put again. */
static void test_chunk_data_known_and_present_is_not_put_again(void **state) {
    (void)state;
    MemoryStore store = {0};
    ChunkRef refs[COUNT], again[COUNT];
    write_to(&store, 2, NULL, refs);
    size_t puts = store.put_count;
    write_to(&store, 2, refs, again);
    assert_int_equal(store.put_count, puts);
    assert_memory_equal(refs, again, sizeof refs);
    MemoryStore empty = {0};
    write_to(&empty, 2, refs, again);
    assert_int_equal(empty.put_count, puts);
    memory_store_deinit(&empty);
    memory_store_deinit(&store);
}

/* As of a storage that has grown: the leading ones are there, what is behind them is put in order,
 * whether it is known or not. */
static void test_chunk_data_goes_on_behind_what_is_present(void **state) {
    (void)state;
    enum { THERE = 25, KNOWN = 33 };
    MemoryStore whole = {0};
    ChunkRef refs[COUNT], again[COUNT];
    OWN(WorkerPool, pool) = NULL;
    assert_ok(worker_pool_create("test", 2, &pool));
    write_to(&whole, 0, NULL, refs);
    for (int round = 0; round < 2; round++) {
        MemoryStore store = {0};
        WorkerPool *threads = round ? pool : NULL;
        assert_ok(chunk_write_data(threads, data, (uint64_t)THERE * SMALL, SMALL,
            CHUNK_FILTER_FLOAT32, (KnownChunks){0}, memory_store_sink(&store), again));
        size_t finds = store.find_count;
        assert_ok(chunk_write_data(threads, data, SIZE, SMALL, CHUNK_FILTER_FLOAT32,
            (KnownChunks){refs, KNOWN}, memory_store_sink(&store), again));
        assert_memory_equal(refs, again, sizeof refs);
        /* what is known and absent may be asked for twice */
        assert_in_range(store.find_count - finds, COUNT - 2, COUNT + KNOWN - THERE + 1);
        assert_int_equal(store.count, whole.count);
        for (size_t i = 0; i < store.count; i++) {
            const ByteWriter *a = memory_store_get(&store, i), *b = memory_store_get(&whole, i);
            assert_int_equal(a->size, b->size);
            assert_memory_equal(a->data, b->data, a->size);
        }
        memory_store_deinit(&store);
    }
    memory_store_deinit(&whole);
}

/* Data of different sizes and filters, one of them empty, in one call and one by one. */
static void test_chunk_data_of_several_runs_is_written_as_one_by_one(void **state) {
    (void)state;
    enum { RUNS = 5 };
    const uint8_t *bytes = (const uint8_t *)data;
    const RawRun runs[RUNS] = {{bytes, 3 * SMALL + 9, CHUNK_FILTER_FLOAT32}, {NULL, 0, 0},
        {bytes + 4, 100, CHUNK_FILTER_BYTES}, {bytes, 2 * SMALL, CHUNK_FILTER_WORD32},
        {bytes + 8 * SMALL, 6 * SMALL + 1, CHUNK_FILTER_FLOAT32}};
    MemoryStore apart = {0};
    ChunkRef apart_refs[COUNT];
    size_t count = 0;
    for (size_t i = 0; i < RUNS; i++) {
        assert_ok(chunk_write_data(NULL, runs[i].data, runs[i].size, SMALL, runs[i].filter,
            (KnownChunks){0}, memory_store_sink(&apart), apart_refs + count));
        count += chunk_count(runs[i].size, SMALL);
    }
    assert_int_equal(apart.count, count - 2); /* the first two chunks are there twice */
    for (uint32_t threads = 0; threads < 4; threads++) {
        MemoryStore store = {0};
        ChunkRef refs[COUNT];
        OWN(WorkerPool, pool) = NULL;
        if (threads) assert_ok(worker_pool_create("test", threads, &pool));
        assert_ok(chunk_write_runs(pool, runs, RUNS, SMALL, memory_store_sink(&store), refs));
        assert_memory_equal(refs, apart_refs, count * sizeof(ChunkRef));
        assert_int_equal(store.count, apart.count);
        for (size_t i = 0; i < store.count; i++) {
            const ByteWriter *a = memory_store_get(&store, i), *b = memory_store_get(&apart, i);
            assert_int_equal(a->size, b->size);
            assert_memory_equal(a->data, b->data, a->size);
        }
        memory_store_deinit(&store);
    }
    memory_store_deinit(&apart);
}

typedef struct Released {
    atomic_bool done[COUNT]; /* the reader may forget the chunk */
    ChunkRef refs[COUNT];
    MemoryStore store;
    size_t early; /* puts of chunks that the reader still has to keep */
} Released;

static Error *get_raw(void *self, size_t index, const void **out_data) {
    (void)self;
    *out_data = (const char *)data + index * SMALL;
    return NULL;
}

static void raw_is_done(void *self, size_t index) {
    atomic_store(&((Released *)self)->done[index], true);
}

static Error *find_stored(void *self, const ChunkRef *refs, size_t count, bool *out_found) {
    Released *released = self;
    const ChunkSink sink = memory_store_sink(&released->store);
    return sink.find(sink.self, refs, count, out_found);
}

static Error *put_once_released(
    void *self, const ChunkRef *ref, const void *stored, size_t stored_size) {
    Released *released = self;
    const ChunkSink sink = memory_store_sink(&released->store);
    size_t index = 0;
    while (!digest_equal(&released->refs[index].hash, &ref->hash)) index++;
    if (!atomic_load(&released->done[index])) released->early++;
    return sink.put(sink.self, ref, stored, stored_size);
}

/* A reader with room for as many chunks as there are slots never has to keep more. */
static void test_chunk_data_releases_raw_bytes_before_the_chunk_is_put(void **state) {
    (void)state;
    for (uint32_t threads = 0; threads <= 6; threads += 2) {
        OWN(WorkerPool, pool) = NULL;
        Released released = {0};
        if (threads) assert_ok(worker_pool_create("test", threads, &pool));
        assert_ok(chunk_write_read(pool, (RawChunks){get_raw, raw_is_done, &released}, SIZE, SMALL,
            CHUNK_FILTER_FLOAT32, (ChunkSink){find_stored, put_once_released, &released},
            released.refs));
        assert_int_equal(released.store.count, COUNT - 2);
        assert_int_equal(released.early, 0);
        for (size_t i = 0; i < COUNT; i++) assert_true(atomic_load(&released.done[i]));
        memory_store_deinit(&released.store);
    }
}

static void test_chunk_data_of_no_bytes_has_no_chunks(void **state) {
    (void)state;
    MemoryStore store = {0};
    ChunkRef ref;
    assert_ok(chunk_write_data(NULL, NULL, 0, CHUNK_SIZE, CHUNK_FILTER_FLOAT32, (KnownChunks){0},
        memory_store_sink(&store), &ref));
    assert_int_equal(store.find_count, 0);
    assert_ok(chunk_read_data(
        NULL, &(ChunkRun){&ref, 0, NULL}, 1, CHUNK_VERIFY_SHA256, memory_store_source(&store)));
}

/* Whichever put fails, the call ends with its error and nothing is put behind it. */
static void test_chunk_data_reports_the_sinks_failure(void **state) {
    (void)state;
    OWN(WorkerPool, pool) = NULL;
    assert_ok(worker_pool_create("test", 3, &pool));
    for (size_t n = 1; n < COUNT - 1; n++) {
        MemoryStore store = {.fail_put_at = n};
        ChunkRef refs[COUNT];
        assert_fails_saying(IO, "the disk says no",
            chunk_write_data(n & 1 ? pool : NULL, data, SIZE, SMALL, CHUNK_FILTER_FLOAT32,
                (KnownChunks){0}, memory_store_sink(&store), refs));
        assert_int_equal(store.count, n - 1);
        memory_store_deinit(&store);
    }
}

static void test_chunk_data_reports_missing_and_damaged_chunks(void **state) {
    (void)state;
    MemoryStore store = {0};
    ChunkRef refs[COUNT];
    write_to(&store, 0, NULL, refs);
    OWN(WorkerPool, pool) = NULL;
    assert_ok(worker_pool_create("test", 2, &pool));
    memory_store_get(&store, 7)->data[20] ^= 1;
    assert_fails(CORRUPT, chunk_read_data(pool, &(ChunkRun){refs, COUNT, back}, 1,
                              CHUNK_VERIFY_XXH3, memory_store_source(&store)));
    memory_store_get(&store, 7)->data[20] ^= 1;
    refs[9].hash.bytes[0] ^= 1;
    assert_fails(NOT_FOUND, chunk_read_data(pool, &(ChunkRun){refs, COUNT, back}, 1,
                                CHUNK_VERIFY_XXH3, memory_store_source(&store)));
    memory_store_deinit(&store);
}

int test_chunk_data(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunk_data_is_written_the_same_by_any_number_of_threads),
        cmocka_unit_test(test_chunk_data_reads_back_in_parallel),
        cmocka_unit_test(test_chunk_data_reads_several_runs_at_once),
        cmocka_unit_test(test_chunk_data_known_and_present_is_not_put_again),
        cmocka_unit_test(test_chunk_data_goes_on_behind_what_is_present),
        cmocka_unit_test(test_chunk_data_of_several_runs_is_written_as_one_by_one),
        cmocka_unit_test(test_chunk_data_releases_raw_bytes_before_the_chunk_is_put),
        cmocka_unit_test(test_chunk_data_of_no_bytes_has_no_chunks),
        cmocka_unit_test(test_chunk_data_reports_the_sinks_failure),
        cmocka_unit_test(test_chunk_data_reports_missing_and_damaged_chunks),
    };
    return cmocka_run_group_tests_name("chunk_data", tests, setup, teardown);
}
