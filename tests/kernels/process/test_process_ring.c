#include "kernels/process/process_ring.h"

#include <pthread.h>
#include <time.h>

#include "base/allocator.h"
#include "base/spin.h"
#include "tests/support/test_support.h"

enum { RECORDS = 20000 };

typedef struct Pair {
    RingShared *shared;
    atomic_bool gone;
    Ring writer, reader;
} Pair;

static void init(Pair *pair, uint64_t spin_ns) {
    void *memory;
    *pair = (Pair){0};
    assert_ok(memory_map(sizeof(RingShared), &memory));
    pair->shared = memory;
    pair->writer = ring_make_writer(pair->shared, &pair->gone, spin_ns);
    pair->reader = ring_make_reader(pair->shared, &pair->gone, spin_ns);
}

static void deinit(Pair *pair) { memory_unmap(pair->shared, sizeof(RingShared)); }

/* Mostly small, now and then as large as can be. */
static uint32_t size_of(uint64_t *seed) {
    uint64_t number = test_random(seed);
    return (uint32_t)(number % 64 == 0 ? number % (RING_PAYLOAD_MAX + 1) : number % 300);
}

static void put(Ring *ring, uint32_t kind, uint32_t size, uint8_t fill) {
    void *bytes;
    assert_int_equal(ring_begin(ring, size, &bytes), RING_READY);
    memset(bytes, fill, size);
    ring_end(ring, kind, size);
}

static void *write_all(void *argument) {
    Pair *pair = argument;
    uint64_t seed = 5;
    for (uint32_t i = 0; i < RECORDS; i++) put(&pair->writer, i + 1, size_of(&seed), (uint8_t)i);
    return NULL;
}

static void check_record(const RingRecord *record, uint32_t index, uint32_t size) {
    assert_int_equal(record->kind, index + 1);
    assert_int_equal(record->size, size);
    for (uint32_t i = 0; i < size; i += size / 16 + 1)
        assert_int_equal(record->bytes[i], (uint8_t)index);
}

static void pass_all(uint64_t spin_ns) {
    Pair pair;
    pthread_t thread;
    uint64_t seed = 5;
    init(&pair, spin_ns);
    assert_int_equal(pthread_create(&thread, NULL, write_all, &pair), 0);
    for (uint32_t i = 0; i < RECORDS; i++) {
        RingRecord record;
        assert_int_equal(ring_next(&pair.reader, &record), RING_READY);
        check_record(&record, i, size_of(&seed));
        ring_done(&pair.reader, &record);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    deinit(&pair);
}

static void test_process_ring_passes_records_in_order(void **state) {
    (void)state;
    pass_all(spin_limit_ns());
}

static void test_process_ring_passes_them_to_sleepers_too(void **state) {
    (void)state;
    pass_all(0);
}

/* What is written and read one by one never leaves the first pages. */
static void test_process_ring_begins_again_when_empty(void **state) {
    (void)state;
    Pair pair;
    init(&pair, 0);
    for (uint32_t i = 0; i < 100000; i++) {
        RingRecord record;
        put(&pair.writer, 1, 100, 1);
        assert_int_equal(ring_next(&pair.reader, &record), RING_READY);
        assert_true(record.bytes + record.size < pair.shared->bytes + RING_BYTES / 8);
        ring_done(&pair.reader, &record);
    }
    deinit(&pair);
}

static void *go_away(void *argument) {
    static const struct timespec pause = {.tv_nsec = 20000000};
    Pair *pair = argument;
    (void)nanosleep(&pause, NULL);
    atomic_store(&pair->gone, true);
    ring_wake(pair->shared);
    return NULL;
}

static void test_process_ring_tells_sleepers_that_the_other_is_gone(void **state) {
    (void)state;
    Pair pair;
    pthread_t thread;
    RingRecord record;
    void *bytes;
    RingState found = RING_READY;
    init(&pair, 0);
    assert_int_equal(pthread_create(&thread, NULL, go_away, &pair), 0);
    assert_int_equal(ring_next(&pair.reader, &record), RING_GONE);
    assert_int_equal(pthread_join(thread, NULL), 0);
    atomic_store(&pair.gone, false);
    assert_int_equal(pthread_create(&thread, NULL, go_away, &pair), 0);
    while ((found = ring_begin(&pair.writer, RING_PAYLOAD_MAX, &bytes)) == RING_READY)
        ring_end(&pair.writer, 1, RING_PAYLOAD_MAX); /* until it is full */
    assert_int_equal(found, RING_GONE);
    assert_int_equal(pthread_join(thread, NULL), 0);
    deinit(&pair);
}

static void test_process_ring_believes_no_cursor(void **state) {
    (void)state;
    static const uint64_t cursors[] = {1, 8, RING_BYTES + 16, UINT64_MAX, UINT64_MAX - 15};
    for (size_t i = 0; i < sizeof cursors / sizeof cursors[0]; i++) {
        Pair pair;
        RingRecord record;
        init(&pair, 0);
        atomic_store(&pair.shared->written, cursors[i]);
        assert_int_equal(ring_next(&pair.reader, &record), RING_BROKEN);
        deinit(&pair);
    }
    Pair pair;
    void *bytes;
    init(&pair, 0);
    atomic_store(&pair.shared->read, 4096);
    assert_int_equal(ring_begin(&pair.writer, 16, &bytes), RING_BROKEN);
    deinit(&pair);
}

/* What is read of a record stays inside what was written. */
static void test_process_ring_believes_no_size(void **state) {
    (void)state;
    static const uint32_t sizes[] = {
        25, 4096, RING_PAYLOAD_MAX + 1, RING_BYTES - 8, RING_BYTES, UINT32_MAX, UINT32_MAX - 7};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (uint32_t kind = 0; kind < 2; kind++) {
            Pair pair;
            RingRecord record;
            init(&pair, 0);
            put(&pair.writer, 1, 16, 7);
            memcpy(pair.shared->bytes, &sizes[i], sizeof sizes[i]);
            memcpy(pair.shared->bytes + 4, &kind, sizeof kind);
            assert_int_equal(ring_next(&pair.reader, &record), RING_BROKEN);
            deinit(&pair);
        }
}

int test_process_ring(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_ring_passes_records_in_order),
        cmocka_unit_test(test_process_ring_passes_them_to_sleepers_too),
        cmocka_unit_test(test_process_ring_begins_again_when_empty),
        cmocka_unit_test(test_process_ring_tells_sleepers_that_the_other_is_gone),
        cmocka_unit_test(test_process_ring_believes_no_cursor),
        cmocka_unit_test(test_process_ring_believes_no_size),
    };
    return cmocka_run_group_tests_name("process_ring", tests, NULL, NULL);
}
