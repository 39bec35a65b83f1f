#include "base/digest_set.h"

#include <string.h>

#include "tests/support/test_support.h"

static Digest digest_of(uint32_t number) {
    Digest digest;
    assert_ok(digest_sha256(&number, sizeof number, &digest));
    return digest;
}

static void test_digest_set_finds_what_was_added_and_nothing_else(void **state) {
    (void)state;
    DigestSet OWN_DIGEST_SET(set) = {0};
    Digest absent = digest_of(0);
    assert_int_equal(digest_set_find(&set, &absent), 0);
    for (uint32_t i = 1; i <= 1000; i++) {
        Digest digest = digest_of(i);
        assert_ok(digest_set_add(&set, &digest, i));
    }
    assert_int_equal(set.count, 1000);
    for (uint32_t i = 1; i <= 1000; i++) {
        Digest digest = digest_of(i);
        assert_int_equal(digest_set_find(&set, &digest), i);
    }
    assert_int_equal(digest_set_find(&set, &absent), 0);
}

static void test_digest_set_keeps_the_first_value(void **state) {
    (void)state;
    DigestSet OWN_DIGEST_SET(set) = {0};
    Digest digest = digest_of(1);
    assert_ok(digest_set_add(&set, &digest, 5));
    assert_ok(digest_set_add(&set, &digest, 6));
    assert_int_equal(digest_set_find(&set, &digest), 5);
    assert_int_equal(set.count, 1);
}

/* Digests that differ only in their last byte stand close to each other in a careless table. */
static void test_digest_set_tells_similar_digests_apart(void **state) {
    (void)state;
    DigestSet OWN_DIGEST_SET(set) = {0};
    for (unsigned i = 0; i < 256; i++) {
        Digest digest = {{0}};
        digest.bytes[DIGEST_SIZE - 1] = (uint8_t)i;
        assert_ok(digest_set_add(&set, &digest, i + 1));
    }
    Digest digest = {{0}};
    digest.bytes[DIGEST_SIZE - 1] = 200;
    assert_int_equal(digest_set_find(&set, &digest), 201);
}

int test_digest_set(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digest_set_finds_what_was_added_and_nothing_else),
        cmocka_unit_test(test_digest_set_keeps_the_first_value),
        cmocka_unit_test(test_digest_set_tells_similar_digests_apart),
    };
    return cmocka_run_group_tests_name("digest_set", tests, NULL, NULL);
}
