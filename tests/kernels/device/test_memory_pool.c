#include "kernels/device/memory_pool.h"

#include <pthread.h>

#include "kernels/registry/device_registry.h"
#include "tests/support/test_support.h"

static Device *device;

static int setup(void **state) {
    (void)state;
    assert_ok(device_open("sim:0,memory=1MiB", &device));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    device_close(device);
    return 0;
}

static uint64_t take(MemoryPool *pool, uint64_t size) {
    MemoryAnswer answer;
    uint64_t address = 0;
    assert_ok(memory_pool_alloc(pool, size, &answer, &address));
    assert_int_equal(answer.kind, MEMORY_GRANTED);
    assert_int_equal(address % DEVICE_ALIGNMENT, 0);
    return address;
}

static uint64_t device_free(void) {
    DeviceMemory memory;
    assert_ok(device->class_->memory(device, &memory));
    return memory.free_bytes;
}

static void test_memory_pool_gives_a_freed_block_again(void **state) {
    (void)state;
    OWN(MemoryPool, pool) = NULL;
    assert_ok(memory_pool_create(device, 0, &pool));
    uint64_t a = take(pool, 1000);
    memory_pool_free(pool, a, 1000);
    assert_true(take(pool, 1010) == a);
    memory_pool_free(pool, a, 1010);
    assert_int_equal(memory_pool_used_bytes(pool), 0);
    memory_pool_trim(pool);
    assert_int_equal(device_free(), 1 << 20);
}

static void test_memory_pool_that_is_naive_keeps_nothing(void **state) {
    (void)state;
    for (int naive = 0; naive < 2; naive++) {
        OWN(MemoryPool, pool) = NULL;
        assert_ok(memory_pool_create(device, 0, &pool));
        if (naive) memory_pool_set_naive(pool);
        for (int i = 0; i < 5; i++) {
            uint64_t a = take(pool, 1000);
            assert_int_equal(memory_pool_used_bytes(pool), 1024);
            memory_pool_free(pool, a, 1000);
            assert_int_equal(memory_pool_idle_bytes(pool), naive ? 0 : 1024);
        }
        assert_int_equal(memory_pool_device_blocks(pool), naive ? 5 : 1);
        assert_int_equal(memory_pool_peak_bytes(pool), 1024);
    }
}

/* A block is at most an eighth, or 63 bytes, larger than asked for; freeing by size finds it. */
static void test_memory_pool_blocks_are_little_larger_than_asked(void **state) {
    (void)state;
    OWN(MemoryPool, pool) = NULL;
    assert_ok(memory_pool_create(device, 0, &pool));
    for (uint64_t size = 1; size < 600000; size += size / 7 + 1) {
        uint64_t address = take(pool, size), used = memory_pool_used_bytes(pool);
        assert_true(used >= size && used <= size + (size < 512 ? 63 : size / 8));
        memory_pool_free(pool, address, size);
        memory_pool_trim(pool);
        assert_int_equal(device_free(), 1 << 20);
    }
}

static void test_memory_pool_beyond_the_limit_is_exhausted(void **state) {
    (void)state;
    OWN(MemoryPool, pool) = NULL;
    MemoryAnswer answer;
    uint64_t address = 0, block;
    assert_ok(memory_pool_create(device, 4096, &pool));
    block = take(pool, 2048);
    assert_fails_saying(
        EXHAUSTED, "beyond the limit of 4096", memory_pool_alloc(pool, 2049, &answer, &address));
    assert_fails(EXHAUSTED, memory_pool_alloc(pool, UINT64_MAX, &answer, &address));
    uint64_t rest = take(pool, 2048);
    memory_pool_free(pool, rest, 2048);
    memory_pool_free(pool, block, 2048);
    assert_int_equal(memory_pool_peak_bytes(pool), 4096);
}

/* Pools without a common reserve belong to different owners. */
static void test_memory_pool_shows_nothing_of_another_owner(void **state) {
    (void)state;
    for (uint64_t size = 64; size <= 512 << 10; size *= 3) {
        static uint8_t bytes[512 << 10];
        for (int owner = 0; owner < 2; owner++) {
            OWN(MemoryPool, pool) = NULL;
            assert_ok(memory_pool_create(device, 0, &pool));
            uint64_t address = take(pool, size);
            assert_ok(device->class_->copy_to_host(device, NULL, bytes, address, size));
            for (uint64_t i = 0; i < size; i++) assert_int_equal(bytes[i], 0);
            memset(bytes, 0xa5, size);
            assert_ok(device->class_->copy_from_host(device, NULL, address, bytes, size));
            memory_pool_free(pool, address, size);
        }
    }
}

/* Beyond the grant, or while others hold the device: an answer, and later it works. */
static void test_memory_pool_asks_again_instead_of_failing(void **state) {
    (void)state;
    OWN(MemoryPool, pool) = NULL;
    OWN(MemoryPool, other) = NULL;
    MemoryAnswer answer;
    uint64_t address = 0;
    assert_ok(memory_pool_create(device, 0, &pool));
    assert_ok(memory_pool_create(device, 0, &other));
    memory_pool_set_grant(pool, 1024);
    assert_ok(memory_pool_alloc(pool, 2000, &answer, &address));
    assert_int_equal(answer.kind, MEMORY_NEEDED);
    assert_int_equal(answer.bytes, 2000);
    memory_pool_set_grant(pool, UINT64_MAX);
    uint64_t held = take(other, 700000);
    assert_ok(memory_pool_alloc(pool, 500000, &answer, &address));
    assert_int_equal(answer.kind, MEMORY_NEEDED);
    memory_pool_free(other, held, 700000);
    memory_pool_trim(other);
    address = take(pool, 500000);
    memory_pool_free(pool, address, 500000);
    assert_fails(EXHAUSTED, memory_pool_alloc(pool, 2 << 20, &answer, &address));
}

/* Idle blocks of the pool itself never stand in the way. */
static void test_memory_pool_gives_idle_blocks_back_when_it_needs_others(void **state) {
    (void)state;
    OWN(MemoryPool, pool) = NULL;
    assert_ok(memory_pool_create(device, 0, &pool));
    uint64_t a = take(pool, 400000), b = take(pool, 300000);
    memory_pool_free(pool, a, 400000);
    memory_pool_free(pool, b, 300000);
    a = take(pool, 800000);
    memory_pool_free(pool, a, 800000);
}

static void test_memory_pool_lowering_the_grant_gives_idle_blocks_back(void **state) {
    (void)state;
    OWN(MemoryPool, pool) = NULL;
    assert_ok(memory_pool_create(device, 0, &pool));
    uint64_t a = take(pool, 100000);
    memory_pool_free(pool, a, 100000);
    assert_true(device_free() < 1 << 20);
    memory_pool_set_grant(pool, 0);
    assert_int_equal(device_free(), 1 << 20);
}

static void *hammer(void *argument) {
    MemoryPool *pool = argument;
    uint64_t seed = (uint64_t)(uintptr_t)&seed;
    for (int i = 0; i < 3000; i++) {
        MemoryAnswer answer;
        uint64_t size = 1 + test_random(&seed) % 5000, address;
        Error *error = memory_pool_alloc(pool, size, &answer, &address);
        if (!error && answer.kind == MEMORY_GRANTED) memory_pool_free(pool, address, size);
        if (error) return argument;
    }
    return NULL;
}

static void test_memory_pool_serves_several_threads(void **state) {
    (void)state;
    OWN(MemoryPool, pool) = NULL;
    pthread_t threads[4];
    assert_ok(memory_pool_create(device, 0, &pool));
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, pool), 0);
    for (int i = 0; i < 4; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_null(result);
    }
    assert_int_equal(memory_pool_used_bytes(pool), 0);
}

/* Blocks pass from a pool that ended to the next one, and back to the device where it lacks them.
 */
static void test_memory_pool_leaves_its_blocks_to_the_next(void **state) {
    (void)state;
    OWN(MemoryPool, reserve) = NULL;
    MemoryPool *pool;
    assert_ok(memory_pool_create(device, 0, &reserve));
    assert_ok(memory_pool_create(device, 0, &pool));
    memory_pool_set_reserve(pool, reserve);
    uint64_t a = take(pool, 1000), b = take(pool, 2000);
    memory_pool_free(pool, a, 1000);
    memory_pool_free(pool, b, 2000);
    memory_pool_release(pool);
    assert_true(device_free() < (1 << 20) - 3000);
    assert_ok(memory_pool_create(device, 0, &pool));
    memory_pool_set_reserve(pool, reserve);
    assert_true(take(pool, 2000) == b);
    assert_true(take(pool, 1000) == a);
    assert_int_equal(memory_pool_used_bytes(reserve), 0);
    memory_pool_free(pool, b, 2000);
    /* the whole device but a: what lies idle anywhere is given back for it */
    const uint64_t most = device_free() + 2000;
    const uint64_t large = take(pool, most / 2 + most / 4);
    memory_pool_free(pool, large, most / 2 + most / 4);
    memory_pool_free(pool, a, 1000);
    memory_pool_release(pool);
    memory_pool_trim(reserve);
    assert_int_equal(device_free(), 1 << 20);
}

/* Two pools beside each other find their blocks, one that needs them all does, too. */
static void test_memory_pool_leaves_half_of_a_reserve_to_others(void **state) {
    (void)state;
    enum { COUNT = 4, SIZE = 3000 };
    OWN(MemoryPool, reserve) = NULL;
    MemoryPool *first, *second;
    uint64_t blocks[COUNT];
    assert_ok(memory_pool_create(device, 0, &reserve));
    assert_ok(memory_pool_create(device, 0, &first));
    memory_pool_set_reserve(first, reserve);
    for (int i = 0; i < COUNT; i++) blocks[i] = take(first, SIZE);
    for (int i = 0; i < COUNT; i++) memory_pool_free(first, blocks[i], SIZE);
    memory_pool_release(first);
    const uint64_t free_bytes = device_free();

    assert_ok(memory_pool_create(device, 0, &first));
    assert_ok(memory_pool_create(device, 0, &second));
    memory_pool_set_reserve(first, reserve);
    memory_pool_set_reserve(second, reserve);
    for (int i = 0; i < COUNT; i++) blocks[i] = take(i % 2 ? second : first, SIZE);
    assert_int_equal(device_free(), free_bytes);
    for (int i = 0; i < COUNT; i++) memory_pool_free(i % 2 ? second : first, blocks[i], SIZE);
    memory_pool_release(second);
    memory_pool_release(first);

    assert_ok(memory_pool_create(device, 0, &first));
    memory_pool_set_reserve(first, reserve);
    for (int i = 0; i < COUNT; i++) blocks[i] = take(first, SIZE);
    assert_int_equal(device_free(), free_bytes);
    for (int i = 0; i < COUNT; i++) memory_pool_free(first, blocks[i], SIZE);
    memory_pool_release(first);
    memory_pool_trim(reserve);
    assert_int_equal(device_free(), 1 << 20);
}

/* A block keeps its pool. */
static void test_memory_pool_stays_for_its_blocks(void **state) {
    (void)state;
    MemoryPool *pool;
    assert_ok(memory_pool_create(device, 0, &pool));
    uint64_t a = take(pool, 1000), b = take(pool, 1000);
    memory_pool_release(pool);
    memory_pool_free(pool, a, 1000);
    assert_true(device_free() < (1 << 20) - 1000);
    memory_pool_free(pool, b, 1000);
    assert_int_equal(device_free(), 1 << 20);
}

/* The same block at the same address, on the other one's account. */
static void test_memory_pool_moves_a_block_where_there_is_room(void **state) {
    (void)state;
    OWN(Device, cpu) = NULL;
    OWN(MemoryPool, from) = NULL;
    OWN(MemoryPool, to) = NULL;
    MemoryAnswer answer;
    uint64_t address, other;
    assert_ok(device_open("cpu", &cpu));
    assert_ok(memory_pool_create(cpu, 0, &from));
    assert_ok(memory_pool_create(cpu, 8192, &to));
    assert_ok(memory_pool_alloc(from, 5000, &answer, &address));
    const uint64_t used = memory_pool_used_bytes(from);
    memory_pool_set_grant(to, 4096);
    assert_false(memory_pool_move(from, to, address, 5000));
    assert_int_equal(memory_pool_used_bytes(from), used);
    assert_int_equal(memory_pool_used_bytes(to), 0);
    memory_pool_set_grant(to, UINT64_MAX);
    assert_true(memory_pool_move(from, to, address, 5000));
    assert_int_equal(memory_pool_used_bytes(from), 0);
    assert_int_equal(memory_pool_used_bytes(to), used);
    assert_int_equal(memory_pool_peak_bytes(to), used);
    assert_ok(memory_pool_alloc(from, 5000, &answer, &other));
    assert_false(memory_pool_move(from, to, address, 5000)); /* beyond its limit */
    memory_pool_free(from, other, 5000);
    memory_pool_free(to, address, 5000);
    assert_ok(memory_pool_alloc(to, 5000, &answer, &other));
    assert_int_equal(other, address); /* it is the pool's own */
    memory_pool_free(to, other, 5000);
}

enum { LARGE = 4 << 20, SMALL = 1 << 20 };

/* It counts as what was asked for, and comes back as what it is. */
static void test_memory_pool_lends_a_larger_block(void **state) {
    (void)state;
    OWN(Device, cpu) = NULL;
    OWN(MemoryPool, pool) = NULL;
    assert_ok(device_open("cpu", &cpu));
    assert_ok(memory_pool_create(cpu, LARGE + SMALL, &pool));
    const uint64_t large = take(pool, LARGE);
    memory_pool_free(pool, large, LARGE);
    const uint64_t small = take(pool, SMALL);
    assert_int_equal(small, large);
    assert_int_equal(memory_pool_used_bytes(pool), SMALL);
    const uint64_t other = take(pool, LARGE); /* the limit is one of what is in use */
    assert_int_not_equal(other, large);
    memory_pool_free(pool, other, LARGE);
    memory_pool_free(pool, small, SMALL);
    const uint64_t first = take(pool, LARGE), again = take(pool, SMALL);
    assert_true((first == large && again == other) || (first == other && again == large));
    memory_pool_free(pool, first, LARGE);
    memory_pool_free(pool, again, SMALL);
    assert_int_equal(memory_pool_peak_bytes(pool), LARGE + SMALL);
}

static void test_memory_pool_lends_no_more_than_its_grant(void **state) {
    (void)state;
    OWN(Device, cpu) = NULL;
    OWN(MemoryPool, pool) = NULL;
    assert_ok(device_open("cpu", &cpu));
    assert_ok(memory_pool_create(cpu, 0, &pool));
    memory_pool_set_grant(pool, LARGE + SMALL);
    const uint64_t large = take(pool, LARGE), small = take(pool, SMALL);
    memory_pool_free(pool, large, LARGE);
    const uint64_t lent = take(pool, SMALL);
    assert_int_equal(lent, large);
    const uint64_t fresh = take(pool, SMALL); /* nothing is idle */
    assert_true(fresh != large && fresh != small);
    memory_pool_free(pool, lent, SMALL); /* the grant has no room for all of it */
    const uint64_t last = take(pool, LARGE - SMALL);
    memory_pool_free(pool, last, LARGE - SMALL);
    memory_pool_free(pool, fresh, SMALL);
    memory_pool_free(pool, small, SMALL);
}

static void test_memory_pool_moves_a_lent_block(void **state) {
    (void)state;
    OWN(Device, cpu) = NULL;
    OWN(MemoryPool, from) = NULL;
    OWN(MemoryPool, to) = NULL;
    assert_ok(device_open("cpu", &cpu));
    assert_ok(memory_pool_create(cpu, 0, &from));
    assert_ok(memory_pool_create(cpu, 0, &to));
    const uint64_t large = take(from, LARGE);
    memory_pool_free(from, large, LARGE);
    assert_int_equal(take(from, SMALL), large);
    assert_true(memory_pool_move(from, to, large, SMALL));
    assert_int_equal(memory_pool_used_bytes(from), 0);
    assert_int_equal(memory_pool_used_bytes(to), SMALL);
    memory_pool_free(to, large, SMALL);
    assert_int_equal(take(to, LARGE), large);
    memory_pool_free(to, large, LARGE);
}

/* Small blocks, and those of devices that executions share, are of their size. */
static void test_memory_pool_lends_in_host_memory_alone(void **state) {
    (void)state;
    OWN(MemoryPool, pool) = NULL;
    assert_ok(memory_pool_create(device, 0, &pool));
    const uint64_t large = take(pool, 400000);
    memory_pool_free(pool, large, 400000);
    const uint64_t small = take(pool, 200000);
    assert_int_not_equal(small, large);
    memory_pool_free(pool, small, 200000);
}

int test_memory_pool(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_pool_gives_a_freed_block_again),
        cmocka_unit_test(test_memory_pool_that_is_naive_keeps_nothing),
        cmocka_unit_test(test_memory_pool_leaves_its_blocks_to_the_next),
        cmocka_unit_test(test_memory_pool_blocks_are_little_larger_than_asked),
        cmocka_unit_test(test_memory_pool_beyond_the_limit_is_exhausted),
        cmocka_unit_test(test_memory_pool_shows_nothing_of_another_owner),
        cmocka_unit_test(test_memory_pool_asks_again_instead_of_failing),
        cmocka_unit_test(test_memory_pool_gives_idle_blocks_back_when_it_needs_others),
        cmocka_unit_test(test_memory_pool_lowering_the_grant_gives_idle_blocks_back),
        cmocka_unit_test(test_memory_pool_serves_several_threads),
        cmocka_unit_test(test_memory_pool_leaves_half_of_a_reserve_to_others),
        cmocka_unit_test(test_memory_pool_stays_for_its_blocks),
        cmocka_unit_test(test_memory_pool_moves_a_block_where_there_is_room),
        cmocka_unit_test(test_memory_pool_lends_a_larger_block),
        cmocka_unit_test(test_memory_pool_lends_no_more_than_its_grant),
        cmocka_unit_test(test_memory_pool_moves_a_lent_block),
        cmocka_unit_test(test_memory_pool_lends_in_host_memory_alone),
    };
    return cmocka_run_group_tests_name("memory_pool", tests, setup, teardown);
}
