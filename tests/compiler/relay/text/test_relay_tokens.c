#include "compiler/relay/text/relay_tokens.h"

#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_tokens_have_places(void **state) {
    (void)state;
    RelayTokens storage, *tokens = &storage;
    assert_ok(
        relay_tokens_open(NULL, "%x /* a /* b */\n */ @f.g\n nn.dense(1i64, 2.5f)", 47, tokens));
    assert_int_equal(tokens->kind, RELAY_TOKEN_LOCAL);
    assert_ok(relay_tokens_next(tokens));
    assert_string_equal(tokens->text, "f.g");
    assert_int_equal(tokens->place.line, 2);
    assert_int_equal(tokens->place.column, 5);
    assert_ok(relay_tokens_next(tokens));
    assert_string_equal(tokens->text, "nn.dense");
    assert_ok(relay_tokens_next(tokens));
    assert_ok(relay_tokens_next(tokens));
    assert_int_equal(tokens->dtype, DTYPE_INT64);
    assert_ok(relay_tokens_next(tokens));
    assert_ok(relay_tokens_next(tokens));
    assert_int_equal(tokens->kind, RELAY_TOKEN_FLOAT);
    assert_int_equal(tokens->dtype, DTYPE_FLOAT32);
}

static void test_relay_tokens_read_numbers(void **state) {
    (void)state;
    relay_expect("def @main() { (1e2f, 5f64, 7u8, -3i64, 0.5, -128i8, 255u8, inff, 2h) }",
        "-> float32[] 100; float64[] 5; uint8[] 7; int64[] -3; float32[] 0.5; int8[] -128; "
        "uint8[] 255; float32[] inf; float16[] 2");
    relay_refused(
        INVALID, "line 1, column 15: the number does not fit int8", "def @main() { 128i8 }");
    relay_refused(INVALID, "line 1, column 15: q9 is no suffix", "def @main() { 1q9 }");
    relay_refused(INVALID, "line 1, column 15: 99999999999999999999 is no number",
        "def @main() { 99999999999999999999 }");
}

static void test_relay_tokens_refuse_what_begins_nothing(void **state) {
    (void)state;
    relay_refused(INVALID, "line 2, column 1: the byte 0x01 begins nothing", "\n\x01");
    relay_refused(INVALID, "line 1, column 1: a comment has no end", "/* x");
    relay_refused(INVALID, "line 1, column 2: the byte 0xff begins nothing", "(\xff");
    relay_refused(INVALID, "a string has no end", "#[version = \"0.0.5\n\"]");
}

int test_relay_tokens(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_tokens_have_places),
        cmocka_unit_test(test_relay_tokens_read_numbers),
        cmocka_unit_test(test_relay_tokens_refuse_what_begins_nothing),
    };
    return cmocka_run_group_tests_name("relay_tokens", tests, NULL, NULL);
}
