#include "serialize/chunk/chunk.h"

#include "base/allocator.h"
#include "tests/serialize/serialize_fixtures.h"

enum { GUARD = 64 };

static uint8_t *raw, *back;
static int setup(void **state) {
    (void)state;
    void *memory[2] = {0};
    assert_ok(memory_alloc(CHUNK_SIZE + GUARD, 1, &memory[0]));
    assert_ok(memory_alloc(CHUNK_SIZE + GUARD, 1, &memory[1]));
    raw = memory[0];
    back = memory[1];
    return 0;
}
static int teardown(void **state) {
    (void)state;
    memory_free(raw);
    memory_free(back);
    return 0;
}

typedef enum Content {
    CONTENT_ZERO,
    CONTENT_ONES, /* 1.0f over and over */
    CONTENT_RANDOM,
    CONTENT_NORMAL,
    CONTENT_HALF_RELU, /* half of the elements zero */
    CONTENT_SPARSE,    /* 5 % not zero */
    CONTENT_IDS,       /* small int64 */
    CONTENT_TEXT,
    CONTENT_COUNT,
} Content;

static void fill(Content content, uint64_t seed) {
    float *floats = (float *)(void *)raw;
    int64_t *words = (int64_t *)(void *)raw;
    memset(raw, 0, CHUNK_SIZE);
    if (content == CONTENT_ONES)
        for (int i = 0; i < CHUNK_SIZE / 4; i++) floats[i] = 1;
    if (content == CONTENT_NORMAL || content == CONTENT_HALF_RELU)
        fixture_fill_normal(&seed, floats, CHUNK_SIZE / 4, 0.02f);
    if (content == CONTENT_HALF_RELU)
        for (int i = 0; i < CHUNK_SIZE / 4; i++) floats[i] = floats[i] > 0 ? floats[i] : 0;
    if (content == CONTENT_SPARSE)
        for (int i = 0; i < CHUNK_SIZE / 4; i++)
            if (test_random(&seed) % 20 == 0) floats[i] = (float)test_random(&seed);
    if (content == CONTENT_IDS)
        for (int i = 0; i < CHUNK_SIZE / 8; i++) words[i] = (int64_t)(test_random(&seed) % 30000);
    if (content == CONTENT_RANDOM)
        for (int i = 0; i < CHUNK_SIZE / 8; i++) words[i] = (int64_t)test_random(&seed);
    if (content == CONTENT_TEXT)
        for (size_t i = 0; i < CHUNK_SIZE;) {
            static const char *words_of_text[] = {"tensor ", "register ", "frame ", "chunk\n"};
            const char *word = words_of_text[test_random(&seed) % 4];
            for (; *word && i < CHUNK_SIZE; word++) raw[i++] = (uint8_t)*word;
        }
}

static ChunkRef ref_of(const void *data, uint32_t size) {
    ChunkRef ref = {.raw_size = size};
    assert_ok(digest_sha256(data, size, &ref.hash));
    return ref;
}

/* Encodes, decodes, compares; returns the stored size. */
static size_t round_trip(uint32_t size, ChunkFilter filter) {
    ByteWriter OWN_BYTES(stored) = {0};
    byte_write_u32(&stored, 0xdddddddd); /* encoding appends */
    assert_ok(chunk_encode(raw, size, filter, &stored));
    assert_true(stored.size - 4 <= CHUNK_STORED_SIZE_MAX);
    ChunkRef ref = ref_of(raw, size);
    memset(back + size, 0xee, GUARD);
    assert_ok(chunk_decode(stored.data + 4, stored.size - 4, &ref, CHUNK_VERIFY_SHA256, back));
    assert_memory_equal(raw, back, size);
    for (int i = 0; i < GUARD; i++) assert_int_equal(back[size + (uint32_t)i], 0xee);
    return stored.size - 4;
}

static void test_chunk_round_trips_every_content_filter_and_size(void **state) {
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 7, 8, 9, 63, 64, 100, 1000, 4099, 32768, 65535,
        300001, CHUNK_SIZE - 3, CHUNK_SIZE};
    for (int content = 0; content < CONTENT_COUNT; content++) {
        fill((Content)content, 11);
        for (int filter = 0; filter <= CHUNK_FILTER_WORD64; filter++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                round_trip(sizes[i], (ChunkFilter)filter);
    }
}

/* Stored size in percent, measured 2026 with zstd 1.5.4; the rows of limits A.3.2. */
static void test_chunk_encode_reaches_its_ratios(void **state) {
    (void)state;
    static const struct {
        Content content;
        ChunkFilter filter;
        double percent_max;
    } rows[] = {
        {CONTENT_ZERO, CHUNK_FILTER_FLOAT32, 0.01},
        {CONTENT_ONES, CHUNK_FILTER_FLOAT32, 0.01},
        {CONTENT_RANDOM, CHUNK_FILTER_BYTES, 100.01},
        {CONTENT_NORMAL, CHUNK_FILTER_FLOAT32, 83.6},
        {CONTENT_HALF_RELU, CHUNK_FILTER_FLOAT32, 53.0},
        {CONTENT_SPARSE, CHUNK_FILTER_FLOAT32, 9.0},
        {CONTENT_IDS, CHUNK_FILTER_WORD64, 24.5},
        {CONTENT_TEXT, CHUNK_FILTER_BYTES, 12.0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fill(rows[i].content, 12);
        double percent = 100.0 * (double)round_trip(CHUNK_SIZE, rows[i].filter) / CHUNK_SIZE;
        if (percent > rows[i].percent_max)
            fail_msg("content %d: stored in %.3f %%", (int)rows[i].content, percent);
    }
}

/* The stored bytes as docs/formats.md has them: header, raw and pattern payloads. */
static void test_chunk_stored_form_is_as_documented(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(stored) = {0};
    assert_ok(chunk_encode("\x01\x02\x03", 3, CHUNK_FILTER_BYTES, &stored));
    static const uint8_t raw_form[] = {0, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3};
    assert_int_equal(stored.size, 8 + sizeof raw_form);
    assert_memory_equal(stored.data + 8, raw_form, sizeof raw_form);
    ByteReader reader = byte_reader(stored.data, stored.size);
    uint64_t checksum = 0;
    assert_ok(byte_read_u64(&reader, &checksum));
    assert_true(checksum == digest_xxh3(raw_form, sizeof raw_form));

    stored.size = 0;
    const float ones[3] = {1, 1, 1};
    assert_ok(chunk_encode(ones, 12, CHUNK_FILTER_FLOAT32, &stored));
    static const uint8_t pattern_form[] = {1, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0x80, 0x3f};
    assert_int_equal(stored.size, 8 + sizeof pattern_form);
    assert_memory_equal(stored.data + 8, pattern_form, sizeof pattern_form);
}

/* Writes the checksum that the bytes behind it have. */
static void repair_checksum(uint8_t *stored, size_t size) {
    uint64_t checksum = digest_xxh3(stored + 8, size - 8);
    for (int i = 0; i < 8; i++) stored[i] = (uint8_t)(checksum >> (8 * i));
}

static void test_chunk_decode_rejects_every_flipped_byte_and_truncation(void **state) {
    (void)state;
    fill(CONTENT_NORMAL, 13);
    ByteWriter OWN_BYTES(stored) = {0};
    assert_ok(chunk_encode(raw, 2000, CHUNK_FILTER_FLOAT32, &stored));
    ChunkRef ref = ref_of(raw, 2000);
    for (size_t i = 0; i < stored.size; i++) {
        stored.data[i] ^= 0x41;
        assert_fails(
            CORRUPT, chunk_decode(stored.data, stored.size, &ref, CHUNK_VERIFY_XXH3, back));
        stored.data[i] ^= 0x41;
    }
    for (size_t size = 0; size < stored.size; size++)
        assert_fails(CORRUPT, chunk_decode(stored.data, size, &ref, CHUNK_VERIFY_XXH3, back));
}

/* With repaired checksums: never a byte beyond the raw size, and wrong content never passes
 * SHA-256. */
static void test_chunk_decode_survives_every_flip_with_repaired_checksum(void **state) {
    (void)state;
    static const Content contents[] = {CONTENT_NORMAL, CONTENT_SPARSE, CONTENT_ONES, CONTENT_IDS};
    static const ChunkFilter filters[] = {
        CHUNK_FILTER_FLOAT32, CHUNK_FILTER_FLOAT32, CHUNK_FILTER_FLOAT32, CHUNK_FILTER_WORD64};
    enum { SIZE = 1999 };
    for (size_t c = 0; c < 4; c++) {
        fill(contents[c], 14);
        ByteWriter OWN_BYTES(stored) = {0};
        assert_ok(chunk_encode(raw, SIZE, filters[c], &stored));
        ChunkRef ref = ref_of(raw, SIZE);
        memset(back + SIZE, 0xee, GUARD);
        for (size_t i = 8; i < stored.size; i++)
            for (int bit = 0; bit < 8; bit += 1 + (i > 80) * 3) {
                uint8_t saved = stored.data[i];
                stored.data[i] ^= (uint8_t)(1 << bit);
                repair_checksum(stored.data, stored.size);
                Error *error =
                    chunk_decode(stored.data, stored.size, &ref, CHUNK_VERIFY_SHA256, back);
                if (!error)
                    assert_memory_equal(back, raw, SIZE);
                else
                    assert_int_equal(error_code(error), ERROR_CORRUPT);
                error_free(error); /* either is right */
                stored.data[i] = saved;
            }
        for (int i = 0; i < GUARD; i++) assert_int_equal(back[SIZE + i], 0xee);
    }
}

static void test_chunk_decode_rejects_what_the_name_does_not_fit(void **state) {
    (void)state;
    fill(CONTENT_NORMAL, 15);
    ByteWriter OWN_BYTES(stored) = {0};
    assert_ok(chunk_encode(raw, 400, CHUNK_FILTER_FLOAT32, &stored));
    ChunkRef ref = ref_of(raw, 400);
    ref.raw_size = 399;
    assert_fails_saying(CORRUPT, "400 bytes instead of 399",
        chunk_decode(stored.data, stored.size, &ref, CHUNK_VERIFY_XXH3, back));
    ref.raw_size = 400;
    ref.hash.bytes[5] ^= 1;
    assert_ok(chunk_decode(stored.data, stored.size, &ref, CHUNK_VERIFY_XXH3, back));
    assert_fails_saying(CORRUPT, "SHA-256",
        chunk_decode(stored.data, stored.size, &ref, CHUNK_VERIFY_SHA256, back));
}

static void decode_payload_fails(
    const char *why, const uint8_t *body, size_t size, uint32_t raw_size) {
    uint8_t stored[64] = {0};
    memcpy(stored + 8, body, size);
    repair_checksum(stored, size + 8);
    ChunkRef ref = {.raw_size = raw_size};
    assert_fails_saying(
        CORRUPT, why, chunk_decode(stored, size + 8, &ref, CHUNK_VERIFY_XXH3, back));
}

static void test_chunk_decode_rejects_forged_headers_and_planes(void **state) {
    (void)state;
#define BODY(why, raw_size, ...)                                                                   \
    decode_payload_fails(why, (uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), raw_size)
    BODY("unknown codec 4", 4, 4, 0, 0, 0, 4, 0, 0, 0, 1);
    BODY("unknown filter 7", 4, 3, 7, 0, 0, 4, 0, 0, 0, 1);
    BODY("unknown filter 0", 4, 3, 0, 0, 0, 4, 0, 0, 0, 1);
    BODY("must be 0", 4, 0, 1, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4);
    BODY("must be 0", 4, 0, 0, 0, 1, 4, 0, 0, 0, 1, 2, 3, 4);
    BODY("3 raw bytes instead of 4", 4, 0, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3);
    BODY("5 raw bytes instead of 4", 4, 0, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4, 5);
    BODY("0 bytes instead of 0", 0, 0, 0, 0, 0, 0, 0, 0, 0);
    BODY("pattern of 0 bytes", 4, 1, 0, 0, 0, 4, 0, 0, 0);
    BODY("pattern of 9 bytes", 64, 1, 0, 0, 0, 64, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    BODY("pattern of 5 bytes", 4, 1, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4, 5);
    BODY("not one whole zstd frame", 4, 2, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3);
    /* two planes of two bytes: table cut short, a plane cut short, wrong sizes, unknown kind */
    BODY("ends early", 4, 3, 4, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0);
    BODY("byte plane 1", 4, 3, 4, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 2, 3);
    BODY("byte plane 0", 4, 3, 4, 0, 0, 4, 0, 0, 0, 255, 255, 255, 0, 2, 0, 0, 0, 1, 2, 3);
    BODY("1 bytes instead of 2", 4, 3, 4, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 2, 3);
    BODY("2 bytes instead of one", 4, 3, 4, 0, 0, 4, 0, 0, 0, 2, 0, 0, 1, 2, 0, 0, 0, 1, 2, 3, 4);
    BODY("unknown kind 3", 4, 3, 4, 0, 0, 4, 0, 0, 0, 2, 0, 0, 3, 2, 0, 0, 0, 1, 2, 3, 4);
    BODY("too many", 4, 3, 4, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 2, 3, 4, 5);
    BODY("ends early", 5, 3, 4, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 2, 3, 4);
#undef BODY
}

/* Hand-made planes decode as documented: FLOAT16's two planes and a byte behind them. */
static void test_chunk_decode_known_planes(void **state) {
    (void)state;
    uint8_t stored[] = {0, 0, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 5, 0, 0, 0, /* PLANES, FLOAT16, 5 */
        2, 0, 0, 0, 1, 0, 0, 1, /* raw plane of 2, constant plane */
        0x11, 0x22, 0x3c, 0x77};
    repair_checksum(stored, sizeof stored);
    ChunkRef ref = {.raw_size = 5};
    assert_ok(chunk_decode(stored, sizeof stored, &ref, CHUNK_VERIFY_XXH3, back));
    assert_memory_equal(back, ((uint8_t[]){0x11, 0x3c, 0x22, 0x3c, 0x77}), 5);
}

static void test_chunk_count_counts_the_last_partial_chunk(void **state) {
    (void)state;
    assert_int_equal(chunk_count(0, CHUNK_SIZE), 0);
    assert_int_equal(chunk_count(1, CHUNK_SIZE), 1);
    assert_int_equal(chunk_count(CHUNK_SIZE, CHUNK_SIZE), 1);
    assert_int_equal(chunk_count(CHUNK_SIZE + 1, CHUNK_SIZE), 2);
    assert_int_equal(chunk_count(UINT64_MAX, CHUNK_SIZE), (size_t)1 << 44);
}

int test_chunk(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunk_round_trips_every_content_filter_and_size),
        cmocka_unit_test(test_chunk_encode_reaches_its_ratios),
        cmocka_unit_test(test_chunk_stored_form_is_as_documented),
        cmocka_unit_test(test_chunk_decode_rejects_every_flipped_byte_and_truncation),
        cmocka_unit_test(test_chunk_decode_survives_every_flip_with_repaired_checksum),
        cmocka_unit_test(test_chunk_decode_rejects_what_the_name_does_not_fit),
        cmocka_unit_test(test_chunk_decode_rejects_forged_headers_and_planes),
        cmocka_unit_test(test_chunk_decode_known_planes),
        cmocka_unit_test(test_chunk_count_counts_the_last_partial_chunk),
    };
    return cmocka_run_group_tests_name("chunk", tests, setup, teardown);
}
