#include "scheduler/migration/protocol.h"

#include <stdio.h>

#include "tests/support/test_support.h"

static void test_protocol_is_the_highest_that_both_speak(void **state) {
    (void)state;
    int64_t version = 0;
    assert_ok(protocol_negotiate(MIGRATION_PROTOCOL_MIN, MIGRATION_PROTOCOL_MAX, &version));
    assert_int_equal(version, MIGRATION_PROTOCOL_MAX);
    assert_ok(protocol_negotiate(1, INT32_MAX, &version));
    assert_int_equal(version, MIGRATION_PROTOCOL_MAX);
    assert_ok(protocol_negotiate(1, MIGRATION_PROTOCOL_MIN, &version));
    assert_int_equal(version, MIGRATION_PROTOCOL_MIN);
}

static void test_protocol_names_both_ranges_when_none_is_common(void **state) {
    (void)state;
    int64_t version = 7, next = MIGRATION_PROTOCOL_MAX + 1;
    char words[64];
    (void)snprintf(words, sizeof words, "%d to %d are spoken here, %d to %d there",
        MIGRATION_PROTOCOL_MIN, MIGRATION_PROTOCOL_MAX, (int)next, (int)next + 2);
    assert_fails_saying(UNSUPPORTED, words, protocol_negotiate(next, next + 2, &version));
    assert_int_equal(version, 7);
    assert_fails(INVALID, protocol_negotiate(2, 1, &version));
    assert_fails(INVALID, protocol_negotiate(0, 1, &version));
    assert_fails(INVALID, protocol_negotiate(INT64_MIN, INT64_MAX, &version));
}

int test_protocol(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_protocol_is_the_highest_that_both_speak),
        cmocka_unit_test(test_protocol_names_both_ranges_when_none_is_common),
    };
    return cmocka_run_group_tests_name("protocol", tests, NULL, NULL);
}
