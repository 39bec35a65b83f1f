#include "serialize/relay/relay_internal.h"
#include "tests/support/test_support.h"

static Error *fields_of(int64_t number, uint32_t minor, const int64_t *words, uint64_t count,
    RelayField *out, uint32_t *out_count) {
    const RelayOpcode opcode = relay_opcode_find(number, minor);
    const RelayWords view = {(const uint8_t *)words, count};
    return relay_opcode_fields(&opcode, &view, out, out_count);
}

static void test_relay_opcode_forms_follow_the_version(void **state) {
    (void)state;
    assert_string_equal(relay_opcode_find(11, 13).fields, "constant dst");
    assert_string_equal(relay_opcode_find(11, 14).fields, "constant device dst");
    assert_null(relay_opcode_find(17, 6).name);
    assert_null(relay_opcode_find(20, 8).name);
    assert_null(relay_opcode_find(21, 19).name);
    assert_null(relay_opcode_find(-1, 19).name);
}

static void test_relay_opcode_fields_take_the_words(void **state) {
    (void)state;
    RelayField fields[RELAY_FIELDS_MAX];
    uint32_t count;
    const int64_t invoke[] = {2, 0, 2, 5, 1, 2};
    assert_ok(fields_of(2, 18, invoke, 6, fields, &count));
    assert_int_equal(count, 4);
    assert_string_equal(fields[3].name, "argument");
    assert_true(fields[3].is_list);
    assert_int_equal(fields[3].count, 2);
    assert_fails_saying(CORRUPT, "2 words for argument, of which 1 are there",
        fields_of(2, 18, invoke, 5, fields, &count));
    const int64_t negative[] = {2, 0, -1, 5};
    assert_fails(CORRUPT, fields_of(2, 18, negative, 4, fields, &count));
    const int64_t move[] = {0, 1, 2, 3};
    assert_fails_saying(CORRUPT, "Move: 1 words more", fields_of(0, 18, move, 4, fields, &count));
}

int test_relay_opcode(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_opcode_forms_follow_the_version),
        cmocka_unit_test(test_relay_opcode_fields_take_the_words),
    };
    return cmocka_run_group_tests_name("relay_opcode", tests, NULL, NULL);
}
