#include "serialize/chunk/byte_planes.h"

#include "tests/serialize/serialize_fixtures.h"

enum { COUNT_MAX = 300, ROOM = 8 * COUNT_MAX + 64 };

static void split_fresh(ChunkFilter filter, const uint8_t *elements, size_t count,
    uint8_t storage[8][COUNT_MAX + 1], bool portable) {
    uint8_t *planes[8];
    memset(storage, 0xee, 8 * (COUNT_MAX + 1));
    for (int p = 0; p < 8; p++) planes[p] = storage[p];
    if (portable)
        byte_planes_split_portable(filter, elements, count, planes);
    else
        byte_planes_split(filter, elements, count, planes);
}

/* Every count across several vector blocks, at odd addresses: equal planes, exact bounds, and
 * merging gives the elements back. */
static void test_byte_planes_fast_equals_portable(void **state) {
    (void)state;
    uint8_t raw[ROOM], merged[ROOM];
    uint8_t fast[8][COUNT_MAX + 1], slow[8][COUNT_MAX + 1];
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof raw; i++) raw[i] = (uint8_t)test_random(&seed);
    for (int f = CHUNK_FILTER_FLOAT32; f <= CHUNK_FILTER_WORD64; f++) {
        ChunkFilter filter = (ChunkFilter)f;
        uint32_t width = byte_planes_count(filter);
        for (size_t count = 0; count <= COUNT_MAX; count++) {
            const uint8_t *elements = raw + count % 5;
            split_fresh(filter, elements, count, fast, false);
            split_fresh(filter, elements, count, slow, true);
            assert_memory_equal(fast, slow, sizeof fast);
            const uint8_t *planes[8];
            for (int p = 0; p < 8; p++) planes[p] = fast[p];
            for (int portable = 0; portable < 2; portable++) {
                memset(merged, 0xee, sizeof merged);
                uint8_t *to = merged + count % 3;
                if (portable)
                    byte_planes_merge_portable(filter, planes, count, to);
                else
                    byte_planes_merge(filter, planes, count, to);
                assert_memory_equal(to, elements, count * width);
                assert_int_equal(to[count * width], 0xee);
            }
        }
    }
}

static void test_byte_planes_put_the_whole_float32_exponent_into_plane_3(void **state) {
    (void)state;
    const float values[4] = {1.0f, -1.0f, 0.5f, -1.984375f};
    uint8_t planes[4][4];
    byte_planes_split(CHUNK_FILTER_FLOAT32, values, 4,
        (uint8_t *[8]){planes[0], planes[1], planes[2], planes[3]});
    assert_memory_equal(planes[3], ((uint8_t[]){127, 127, 126, 127}), 4);
    /* below it the top of the mantissa and, lowest, the sign */
    assert_memory_equal(planes[2], ((uint8_t[]){0, 1, 0, 0xfd}), 4);
    /* these values are bfloat16 ones: the lower planes stay zero */
    assert_memory_equal(planes[1], ((uint8_t[]){0, 0, 0, 0}), 4);
    assert_memory_equal(planes[0], ((uint8_t[]){0, 0, 0, 0}), 4);
}

static void test_byte_planes_take_word64_bytes_in_order(void **state) {
    (void)state;
    const uint64_t value = 0x0807060504030201u;
    uint8_t bytes[8], *planes[8];
    for (int p = 0; p < 8; p++) planes[p] = &bytes[p];
    byte_planes_split(CHUNK_FILTER_WORD64, &value, 1, planes);
    assert_memory_equal(bytes, ((uint8_t[]){1, 2, 3, 4, 5, 6, 7, 8}), 8);
}

int test_byte_planes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_byte_planes_fast_equals_portable),
        cmocka_unit_test(test_byte_planes_put_the_whole_float32_exponent_into_plane_3),
        cmocka_unit_test(test_byte_planes_take_word64_bytes_in_order),
    };
    return cmocka_run_group_tests_name("byte_planes", tests, NULL, NULL);
}
