#include "base/digest.h"

#include "tests/support/test_support.h"

/* FIPS 180-2's examples, and XXH3's own test values for the empty input. */
static void test_digest_known_answers(void **state) {
    (void)state;
    Digest digest;
    char text[DIGEST_TEXT_SIZE];
    assert_ok(digest_sha256("abc", 3, &digest));
    digest_print(&digest, text);
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_ok(digest_sha256(NULL, 0, &digest));
    digest_print(&digest, text);
    assert_string_equal(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_true(digest_xxh3("", 0) == 0x2d06800538d394c2u);
    assert_true(digest_xxh3_seeded("abc", 3, 0) == digest_xxh3("abc", 3));
    assert_true(digest_xxh3_seeded("abc", 3, 1) != digest_xxh3("abc", 3));
}

static void test_digest_stream_equals_one_call(void **state) {
    (void)state;
    uint8_t data[1000];
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)test_random(&seed);
    Digest whole, parts;
    assert_ok(digest_sha256(data, sizeof data, &whole));
    OWN(DigestStream, stream) = NULL;
    assert_ok(digest_stream_create(&stream));
    for (size_t at = 0, size = 0; at < sizeof data; at += size, size++)
        assert_ok(digest_stream_add(
            stream, data + at, size < sizeof data - at ? size : sizeof data - at));
    assert_ok(digest_stream_finish(stream, &parts));
    assert_true(digest_equal(&whole, &parts));
}

static void test_digest_text_round_trips(void **state) {
    (void)state;
    Digest digest, back;
    char text[DIGEST_TEXT_SIZE];
    assert_ok(digest_sha256("x", 1, &digest));
    digest_print(&digest, text);
    assert_true(digest_parse(text, &back) && digest_equal(&digest, &back));
    text[63] = 'g';
    assert_false(digest_parse(text, &back));
    text[63] = 0;
    assert_false(digest_parse(text, &back));
    digest.bytes[31] ^= 1;
    assert_false(digest_equal(&digest, &back));
}

int test_digest(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digest_known_answers),
        cmocka_unit_test(test_digest_stream_equals_one_call),
        cmocka_unit_test(test_digest_text_round_trips),
    };
    return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
