#include "base/digest.h"
#include "tests/support/test_support.h"

/* By libcrypto. */
static void hash_alone(const void *data, size_t size, Digest *out) {
    OWN(DigestStream, stream) = NULL;
    assert_ok(digest_stream_create(&stream));
    assert_ok(digest_stream_add(stream, data, size));
    assert_ok(digest_stream_finish(stream, out));
}

static void check_pair(const uint8_t *data, size_t room, size_t size) {
    const void *const both[] = {data + size % 17, data + room - size};
    Digest pair[2], single, alone;
    assert_ok(digest_sha256_pair(both, (const size_t[]){size, size}, pair));
    for (int i = 0; i < 2; i++) {
        hash_alone(both[i], size, &alone);
        assert_ok(digest_sha256(both[i], size, &single));
        assert_true(digest_equal(&pair[i], &alone));
        assert_true(digest_equal(&single, &alone));
    }
}

/* Every size up to some blocks, and those around a chunk's; wherever the data begin. */
static void test_digest_pair_equals_two_calls(void **state) {
    (void)state;
    enum { CHUNK = 1 << 20, ROOM = CHUNK + 300 };
    static uint8_t data[ROOM];
    uint64_t seed = 7;
    for (size_t i = 0; i < ROOM; i++) data[i] = (uint8_t)test_random(&seed);
    for (size_t size = 0; size < 400; size++) check_pair(data, ROOM, size);
    for (size_t size = CHUNK - 70; size < CHUNK + 70; size++) check_pair(data, ROOM, size);
}

/* The longer content goes on alone, whichever it is. */
static void test_digest_pair_takes_contents_of_different_sizes(void **state) {
    (void)state;
    enum { ROOM = 5000 };
    static const size_t sizes[] = {0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 191, 1000, 4999};
    static uint8_t data[ROOM + sizeof sizes / sizeof sizes[0]];
    uint64_t seed = 8;
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)test_random(&seed);
    for (size_t a = 0; a < sizeof sizes / sizeof sizes[0]; a++)
        for (size_t b = 0; b < sizeof sizes / sizeof sizes[0]; b++) {
            const size_t both[] = {sizes[a], sizes[b]};
            const void *const contents[] = {data + ROOM - both[0], data + a};
            Digest pair[2], alone;
            assert_ok(digest_sha256_pair(contents, both, pair));
            for (int i = 0; i < 2; i++) {
                hash_alone(contents[i], both[i], &alone);
                assert_true(digest_equal(&pair[i], &alone));
            }
        }
}

int test_digest_pair(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digest_pair_equals_two_calls),
        cmocka_unit_test(test_digest_pair_takes_contents_of_different_sizes),
    };
    return cmocka_run_group_tests_name("digest_pair", tests, NULL, NULL);
}
