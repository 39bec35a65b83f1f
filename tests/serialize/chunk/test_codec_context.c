#include "serialize/chunk/codec_context.h"

#include <pthread.h>

#include "tests/serialize/serialize_fixtures.h"

enum { SIZE = 10000 };

static CodecContext *get_context(void) {
    CodecContext *context = NULL;
    assert_ok(codec_context_get(&context));
    return context;
}

static void fill_compressible(uint8_t *data) {
    uint64_t seed = 5;
    for (size_t i = 0; i < SIZE; i++) data[i] = (uint8_t)(test_random(&seed) & 7);
}

static void test_codec_round_trips_with_every_setting(void **state) {
    (void)state;
    uint8_t data[SIZE], frame[SIZE], back[SIZE];
    fill_compressible(data);
    for (int s = 0; s < CODEC_SETTING_COUNT; s++) {
        size_t size = 0;
        assert_ok(
            codec_compress(get_context(), (CodecSetting)s, data, SIZE, frame, sizeof frame, &size));
        assert_in_range(size, 1, SIZE / 2);
        uint64_t content = 0;
        assert_ok(codec_frame_size(frame, size, &content));
        assert_int_equal(content, SIZE);
        memset(back, 0, sizeof back);
        assert_ok(codec_decompress(get_context(), frame, size, back, SIZE));
        assert_memory_equal(back, data, SIZE);
    }
}

static void test_codec_compress_says_when_it_does_not_fit(void **state) {
    (void)state;
    uint8_t data[SIZE], frame[SIZE];
    fill_compressible(data);
    size_t size = 1;
    assert_ok(codec_compress(get_context(), CODEC_HUFFMAN, data, SIZE, frame, SIZE / 8, &size));
    assert_int_equal(size, 0);
}

static void test_codec_decompress_refuses_what_is_not_one_plain_frame(void **state) {
    (void)state;
    uint8_t data[SIZE], frame[2 * SIZE], back[SIZE];
    fill_compressible(data);
    size_t size = 0;
    CodecContext *context = get_context();
    assert_ok(codec_compress(context, CODEC_LEVEL_1, data, SIZE / 2, frame, SIZE, &size));
    memcpy(frame + size, frame, size); /* two frames make SIZE bytes together */
    assert_fails(CORRUPT, codec_decompress(context, frame, 2 * size, back, SIZE));
    assert_fails(CORRUPT, codec_decompress(context, frame, size, back, SIZE / 2 - 1));
    assert_fails(CORRUPT, codec_decompress(context, frame, size, back, SIZE / 2 + 1));
    assert_fails(CORRUPT, codec_decompress(context, frame, size - 1, back, SIZE / 2));
    assert_fails(CORRUPT, codec_decompress(context, frame, 0, back, SIZE / 2));
    const uint8_t skippable[8] = {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0};
    assert_fails(CORRUPT, codec_decompress(context, skippable, 8, back, 0));
    uint64_t content;
    assert_fails(CORRUPT, codec_frame_size(skippable, 8, &content));
    assert_fails(CORRUPT, codec_frame_size(frame, 3, &content));
}

static void *context_of_thread(void *argument) {
    CodecContext *context = get_context();
    uint8_t frame[64];
    size_t size = 0;
    assert_ok(codec_compress(context, CODEC_LEVEL_3, "aaaaaaaaaaaaaaaaaaaa", 20, frame, 64, &size));
    *(CodecContext **)argument = context;
    return NULL;
}

/* Under a leak checker also: what a thread had goes with it. */
static void test_codec_contexts_belong_to_threads(void **state) {
    (void)state;
    CodecContext *theirs = NULL;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, context_of_thread, &theirs), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_non_null(theirs);
    assert_ptr_equal(get_context(), get_context());
}

/* All planes of the largest chunk fit behind each other without touching. */
static void test_codec_planes_do_not_overlap(void **state) {
    (void)state;
    CodecContext *context = get_context();
    for (uint32_t width = 2; width <= 8; width *= 2)
        for (uint32_t p = 0; p < width; p++)
            memset(codec_context_get_plane(context, p, CHUNK_SIZE / width), (int)p,
                CHUNK_SIZE / width);
    for (uint32_t p = 0; p + 1 < 8; p++)
        assert_true(codec_context_get_plane(context, p, 1000) + 1000 <=
                    codec_context_get_plane(context, p + 1, 1000));
}

int test_codec_context(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codec_round_trips_with_every_setting),
        cmocka_unit_test(test_codec_compress_says_when_it_does_not_fit),
        cmocka_unit_test(test_codec_decompress_refuses_what_is_not_one_plain_frame),
        cmocka_unit_test(test_codec_contexts_belong_to_threads),
        cmocka_unit_test(test_codec_planes_do_not_overlap),
    };
    return cmocka_run_group_tests_name("codec_context", tests, NULL, NULL);
}
