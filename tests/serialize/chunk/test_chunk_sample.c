#include "serialize/chunk/chunk_sample.h"

#include "base/allocator.h"
#include "tests/serialize/serialize_fixtures.h"

enum { SIZE = 1 << 20 };

static uint8_t *data;
static int setup(void **state) {
    (void)state;
    void *memory = NULL;
    assert_ok(memory_alloc(SIZE, 1, &memory));
    data = memory;
    return 0;
}
static int teardown(void **state) {
    (void)state;
    memory_free(data);
    return 0;
}

static void test_chunk_sample_sees_random_bytes_as_incompressible(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (size_t i = 0; i < SIZE; i++) data[i] = (uint8_t)test_random(&seed);
    ChunkSample sample;
    chunk_sample_take(CHUNK_FILTER_BYTES, data, SIZE, &sample);
    assert_int_equal(sample.element_count, 4096);
    assert_true(sample.plane_entropy[0] > 65536 * 99 / 100);
}

/* Known answers: 16 equally frequent values need half the bits, one value none. */
static void test_chunk_sample_measures_known_entropies(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (size_t i = 0; i < SIZE; i += 2) {
        data[i] = (uint8_t)(test_random(&seed) & 15);
        data[i + 1] = 77;
    }
    ChunkSample sample;
    chunk_sample_take(CHUNK_FILTER_WORD16, data, SIZE / 2, &sample);
    assert_in_range(sample.plane_entropy[0], 32768 - 400, 32768 + 400);
    assert_int_equal(sample.plane_entropy[1], 0);
}

static void test_chunk_sample_counts_zeros_and_repeats(void **state) {
    (void)state;
    uint64_t seed = 4;
    uint32_t *words = (uint32_t *)(void *)data;
    for (size_t i = 0; i < SIZE / 4; i++) words[i] = i % 4 ? 0 : (uint32_t)test_random(&seed) | 1;
    ChunkSample sample;
    chunk_sample_take(CHUNK_FILTER_WORD32, data, SIZE / 4, &sample);
    assert_int_equal(sample.repeat_count, sample.element_count / 4 * 3);
    for (size_t i = 0; i < SIZE / 4; i++) words[i] = 0x3f800000;
    chunk_sample_take(CHUNK_FILTER_FLOAT32, data, SIZE / 4, &sample);
    assert_int_equal(sample.repeat_count, sample.element_count - CHUNK_SAMPLE_STRIPES);
}

/* Every small count: all elements are looked at, each once, and none behind the end. */
static void test_chunk_sample_looks_at_all_of_a_short_chunk(void **state) {
    (void)state;
    for (size_t count = 1; count < 5000; count += count < 40 ? 1 : 331) {
        ChunkSample sample;
        chunk_sample_take(CHUNK_FILTER_WORD64, data, count, &sample);
        assert_int_equal(sample.element_count, count < 4096 ? count : 4096);
    }
}

int test_chunk_sample(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunk_sample_sees_random_bytes_as_incompressible),
        cmocka_unit_test(test_chunk_sample_measures_known_entropies),
        cmocka_unit_test(test_chunk_sample_counts_zeros_and_repeats),
        cmocka_unit_test(test_chunk_sample_looks_at_all_of_a_short_chunk),
    };
    return cmocka_run_group_tests_name("chunk_sample", tests, setup, teardown);
}
