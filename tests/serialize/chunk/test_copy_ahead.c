#include "serialize/chunk/copy_ahead.h"

#include <string.h>

#include "base/allocator.h"
#include "kernels/registry/device_registry.h"
#include "tests/support/test_support.h"

enum { LARGE = (COPY_AHEAD_PIECES * 2 + 3) * CHUNK_SIZE + 5, SMALL = 7 };

static uint8_t byte_at(uint64_t offset) { return (uint8_t)(offset / 4099 + offset); }

static Device *device_with(uint64_t size, const char *spec, uint64_t *out_address) {
    Device *device;
    void *bytes;
    assert_ok(device_open(spec, &device));
    assert_ok(device->class_->alloc(device, NULL, size, out_address));
    assert_ok(memory_map(size, &bytes));
    for (uint64_t i = 0; i < size; i++) ((uint8_t *)bytes)[i] = byte_at(i);
    assert_ok(device->class_->copy_from_host(device, NULL, *out_address, bytes, size));
    memory_unmap(bytes, size);
    return device;
}

/* Through a buffer that is much smaller, in the order of the ranges. */
static void check_order(uint32_t chunk_size) {
    uint64_t address;
    Device *device = device_with(LARGE, "sim:0", &address);
    const DeviceRange ranges[] = {{address + 3, SMALL, CHUNK_SIZE}, {address, LARGE, chunk_size},
        {address + 100, SMALL, chunk_size}};
    OWN(CopyAhead, copies) = NULL;
    assert_ok(copy_ahead_create(device, NULL, ranges, 3, &copies));
    for (int r = 0; r < 3; r++) {
        RawChunks reader = copy_ahead_next(copies);
        uint64_t start = ranges[r].address - address, size = ranges[r].size;
        const uint32_t piece = ranges[r].chunk_size;
        for (size_t i = 0; i < chunk_count(size, piece); i++) {
            const void *data;
            uint64_t offset = (uint64_t)i * piece, left = size - offset;
            if (left > piece) left = piece;
            assert_ok(reader.get(reader.self, i, &data));
            assert_int_equal(*(const uint8_t *)data, byte_at(start + offset));
            assert_int_equal(((const uint8_t *)data)[left - 1], byte_at(start + offset + left - 1));
            reader.done(reader.self, i);
        }
    }
    copy_ahead_release(TAKE(copies));
    assert_ok(copy_ahead_create(device, NULL, NULL, 0, &copies)); /* nothing to bring */
    copy_ahead_release(TAKE(copies));
    device->class_->free(device, NULL, address, LARGE);
    device_close(device);
}

static void test_copy_ahead_brings_ranges_in_order(void **state) {
    (void)state;
    check_order(CHUNK_SIZE);
    check_order(CHUNK_APPEND_SIZE);
}

/* More ranges than there are buffers, none as large as a chunk: each comes whole. */
static void test_copy_ahead_brings_many_small_ranges(void **state) {
    (void)state;
    enum { COUNT = 3 * COPY_AHEAD_PIECES, SIZE_MAX_HERE = 5000 };
    uint64_t address;
    Device *device = device_with(SIZE_MAX_HERE + COUNT, "sim:0", &address);
    DeviceRange ranges[COUNT];
    for (uint32_t r = 0; r < COUNT; r++)
        ranges[r] = (DeviceRange){address + r, 1 + r * 61 % SIZE_MAX_HERE, CHUNK_SIZE};
    OWN(CopyAhead, copies) = NULL;
    assert_ok(copy_ahead_create(device, NULL, ranges, COUNT, &copies));
    for (uint32_t r = 0; r < COUNT; r++) {
        const void *data;
        RawChunks reader = copy_ahead_next(copies);
        assert_ok(reader.get(reader.self, 0, &data));
        for (uint64_t i = 0; i < ranges[r].size; i++)
            assert_int_equal(((const uint8_t *)data)[i], byte_at(r + i));
        reader.done(reader.self, 0);
    }
    copy_ahead_release(TAKE(copies));
    device->class_->free(device, NULL, address, SIZE_MAX_HERE + COUNT);
    device_close(device);
}

/* Whoever fails elsewhere lets go in the middle, with the copying thread waiting for room. */
static void test_copy_ahead_ends_early(void **state) {
    (void)state;
    uint64_t address;
    Device *device = device_with(LARGE, "sim:0", &address);
    const DeviceRange range = {address, LARGE, CHUNK_SIZE};
    const void *data;
    for (int got = 0; got < 3; got++) {
        OWN(CopyAhead, copies) = NULL;
        assert_ok(copy_ahead_create(device, NULL, &range, 1, &copies));
        RawChunks reader = copy_ahead_next(copies);
        for (int i = 0; i < got; i++) assert_ok(reader.get(reader.self, (size_t)i, &data));
    }
    device->class_->free(device, NULL, address, LARGE);
    device_close(device);
}

static void test_copy_ahead_tells_the_devices_error(void **state) {
    (void)state;
    uint64_t address;
    Device *device = device_with(LARGE, "sim:0,fail-copy=3", &address); /* the first filled it */
    const DeviceRange range = {address, LARGE, CHUNK_SIZE};
    OWN(CopyAhead, copies) = NULL;
    const void *data = NULL;
    assert_ok(copy_ahead_create(device, NULL, &range, 1, &copies));
    RawChunks reader = copy_ahead_next(copies);
    for (size_t i = 4; i < 6; i++) assert_fails(FAILED, reader.get(reader.self, i, &data));
    assert_null(data);
    copy_ahead_release(TAKE(copies));
    device->class_->free(device, NULL, address, LARGE);
    device_close(device);
}

/* Chunks that come one by one give the same as those in memory, on any number of threads. */
static Error *find_none(void *self, const ChunkRef *refs, size_t count, bool *out_found) {
    (void)self, (void)refs;
    memset(out_found, false, count);
    return NULL;
}
static Error *put_count(void *self, const ChunkRef *ref, const void *stored, size_t stored_size) {
    (void)ref, (void)stored;
    *(size_t *)self += stored_size;
    return NULL;
}

static void test_copy_ahead_feeds_the_chunk_writer(void **state) {
    (void)state;
    enum { COUNT = LARGE / CHUNK_SIZE + 1 };
    static ChunkRef expected[COUNT], refs[COUNT];
    uint64_t address, host_address;
    Device *device = device_with(LARGE, "sim:0", &address);
    Device *cpu = device_with(LARGE, "cpu", &host_address);
    size_t sizes[2] = {0};
    assert_ok(chunk_write_data(NULL, (const void *)(uintptr_t)host_address, LARGE, CHUNK_SIZE,
        CHUNK_FILTER_FLOAT32, (KnownChunks){0}, (ChunkSink){find_none, put_count, &sizes[0]},
        expected));
    for (uint32_t threads = 0; threads < 4; threads += 3) {
        OWN(WorkerPool, pool) = NULL;
        OWN(CopyAhead, copies) = NULL;
        const DeviceRange range = {address, LARGE, CHUNK_SIZE};
        if (threads) assert_ok(worker_pool_create("test", threads, &pool));
        assert_ok(copy_ahead_create(device, NULL, &range, 1, &copies));
        sizes[1] = 0;
        assert_ok(chunk_write_read(pool, copy_ahead_next(copies), LARGE, CHUNK_SIZE,
            CHUNK_FILTER_FLOAT32, (ChunkSink){find_none, put_count, &sizes[1]}, refs));
        assert_int_equal(sizes[0], sizes[1]);
        assert_memory_equal(refs, expected, sizeof refs);
    }
    device->class_->free(device, NULL, address, LARGE);
    cpu->class_->free(cpu, NULL, host_address, LARGE);
    device_close(device);
    device_close(cpu);
}

int test_copy_ahead(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy_ahead_brings_ranges_in_order),
        cmocka_unit_test(test_copy_ahead_brings_many_small_ranges),
        cmocka_unit_test(test_copy_ahead_ends_early),
        cmocka_unit_test(test_copy_ahead_tells_the_devices_error),
        cmocka_unit_test(test_copy_ahead_feeds_the_chunk_writer),
    };
    return cmocka_run_group_tests_name("copy_ahead", tests, NULL, NULL);
}
