#include "kernels/device/host_chunks.h"

#include <string.h>

#include "base/worker_pool.h"
#include "kernels/device/device.h"
#include "tests/support/test_support.h"

static void *alloc(uint64_t size) {
    void *block = NULL;
    assert_ok(host_chunks_alloc(size, &block));
    assert_int_equal((uintptr_t)block % DEVICE_ALIGNMENT, 0);
    for (uint64_t i = 0; i < size; i++)
        if (((const uint8_t *)block)[i] != 0) fail_msg("byte %llu", (unsigned long long)i);
    memset(block, 0xff, size);
    return block;
}

static void test_blocks_are_zero_and_apart(void **state) {
    (void)state;
    enum { COUNT = 64 };
    static void *blocks[COUNT];
    const HostChunksUse before = host_chunks_use();
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < COUNT; i++) {
            blocks[i] = alloc(HOST_CHUNKS_BLOCK_MIN + i * 8191);
            memset(blocks[i], (int)i, HOST_CHUNKS_BLOCK_MIN + i * 8191);
        }
        for (uint64_t i = 0; i < COUNT; i++) {
            const uint8_t *bytes = blocks[i];
            assert_true(bytes[0] == i && bytes[HOST_CHUNKS_BLOCK_MIN + i * 8191 - 1] == i);
            host_chunks_free(blocks[i], HOST_CHUNKS_BLOCK_MIN + i * 8191);
        }
    }
    assert_true(host_chunks_use().chunks <= before.chunks + 1);
    assert_int_equal(host_chunks_use().idle_bytes, before.idle_bytes);
}

/* One block of each chunk stays; what the others held goes back, and they are as they were. */
static void test_idle_blocks_are_bounded(void **state) {
    (void)state;
    enum { CHUNKS = 6, BLOCKS = 7 };
    void *blocks[CHUNKS * BLOCKS];
    const uint64_t size = HOST_CHUNKS_BLOCK_MAX;
    for (int i = 0; i < CHUNKS * BLOCKS; i++) blocks[i] = alloc(size);
    for (int i = 0; i < CHUNKS * BLOCKS; i++) {
        if (i % BLOCKS != 3) host_chunks_free(blocks[i], size);
        assert_true(host_chunks_use().idle_bytes <= HOST_CHUNKS_IDLE_MAX);
    }
    for (int i = 3; i < CHUNKS * BLOCKS; i += BLOCKS) {
        const uint8_t *bytes = blocks[i];
        for (uint64_t j = 0; j < size; j += 4093) assert_int_equal(bytes[j], 0xff);
        assert_int_equal(bytes[size - 1], 0xff);
        host_chunks_free(blocks[i], size);
    }
    assert_int_equal(host_chunks_use().idle_bytes, 0);
    assert_true(host_chunks_use().chunks <= 1);
}

static Error *come_and_go(void *context, size_t task) {
    (void)context;
    for (uint64_t i = 0; i < 200; i++) {
        const uint64_t size = HOST_CHUNKS_BLOCK_MIN + (i * 7919 + task * 104729) % 300000;
        void *block;
        TRY(host_chunks_alloc(size, &block));
        ((uint8_t *)block)[size - 1] = 1;
        host_chunks_free(block, size);
    }
    return NULL;
}

static void test_threads_share_chunks(void **state) {
    (void)state;
    OWN(WorkerPool, pool) = NULL;
    assert_ok(worker_pool_create("chunks", 3, &pool));
    assert_ok(worker_pool_for_each(pool, 8, come_and_go, NULL));
    assert_int_equal(host_chunks_use().idle_bytes, 0);
}

int test_host_chunks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_zero_and_apart),
        cmocka_unit_test(test_idle_blocks_are_bounded),
        cmocka_unit_test(test_threads_share_chunks),
    };
    return cmocka_run_group_tests_name("host_chunks", tests, NULL, NULL);
}
