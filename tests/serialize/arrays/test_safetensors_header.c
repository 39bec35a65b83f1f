#include "serialize/arrays/safetensors_header.h"

#include "tests/serialize/serialize_fixtures.h"

static Error *parse(const char *text, SafetensorsHeader *out) {
    return safetensors_header_parse(text, strlen(text), out);
}

static void test_safetensors_header_parses_entries(void **state) {
    (void)state;
    SafetensorsHeader header = {0};
    assert_ok(parse("{\"__metadata__\":{\"format\":\"pt\"},\"a\\\"\\u00fc\\ud83d\\ude00\\n\":"
                    "{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]} , \"b\" : "
                    "{\"shape\":[],\"data_offsets\":[24,26],\"dtype\":\"BF16\"}}   ",
        &header));
    assert_int_equal(header.count, 2);
    assert_string_equal(header.entries[0].name, "a\"ü\xf0\x9f\x98\x80\n");
    assert_int_equal(header.entries[0].dtype, DTYPE_FLOAT32);
    assert_int_equal(header.entries[0].shape.dims[1], 3);
    assert_int_equal(header.entries[0].end, 24);
    assert_int_equal(header.entries[1].shape.rank, 0);
    safetensors_header_deinit(&header);
    assert_ok(parse("{}", &header));
    assert_ok(parse("{\"__metadata__\":{}}", &header));
    assert_int_equal(header.count, 0);
    safetensors_header_deinit(&header);
}

#define ENTRY(dtype, shape, offsets)                                                               \
    "{\"x\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void test_safetensors_header_refuses_everything_else(void **state) {
    (void)state;
    static const struct {
        ErrorCode code;
        const char *text;
    } rows[] = {
        {ERROR_CORRUPT, ""},
        {ERROR_CORRUPT, " {}"},
        {ERROR_CORRUPT, "["},
        {ERROR_CORRUPT, "{"},
        {ERROR_CORRUPT, "{} x"},
        {ERROR_CORRUPT, "{,}"},
        {ERROR_CORRUPT, "{\"x\"}"},
        {ERROR_CORRUPT, "{\"x\":{}}"},
        {ERROR_CORRUPT, "{\"x\":1}"},
        {ERROR_CORRUPT, "{\"__metadata__\":{\"a\":1}}"},
        {ERROR_CORRUPT, "{\"__metadata__\":{},\"__metadata__\":{}}"},
        {ERROR_CORRUPT, "{\"\xff\":{}}"},
        {ERROR_CORRUPT, "{\"a\nb\":{}}"},
        {ERROR_CORRUPT, "{\"a\\"},
        {ERROR_CORRUPT, "{\"a\\x\":{}}"},
        {ERROR_CORRUPT, "{\"a\\u12\":{}}"},
        {ERROR_CORRUPT, "{\"a\\u0000\":{}}"},
        {ERROR_CORRUPT, "{\"a\\ud83d\":{}}"},
        {ERROR_CORRUPT, "{\"a\\ud83d\\u0041\":{}}"},
        {ERROR_CORRUPT, "{\"a\\ude00\":{}}"},
        {ERROR_CORRUPT, ENTRY("F32", "[1]", "[0,4],\"dtype\":\"F32\"")},
        {ERROR_CORRUPT, ENTRY("F32", "[1]", "[0,4],\"more\":1")},
        {ERROR_CORRUPT, ENTRY("F32", "[1]", "[0,5]")},
        {ERROR_CORRUPT, ENTRY("F32", "[1]", "[4,0]")},
        {ERROR_CORRUPT, ENTRY("F32", "[1]", "[18446744073709551615,3]")},
        {ERROR_CORRUPT, ENTRY("F32", "[1]", "[0,4,8]")},
        {ERROR_CORRUPT, ENTRY("F32", "[-1]", "[0,4]")},
        {ERROR_CORRUPT, ENTRY("F32", "[1.5]", "[0,4]")},
        {ERROR_CORRUPT, ENTRY("F32", "[1,]", "[0,4]")},
        {ERROR_INVALID, ENTRY("F32", "[1]", "[0,18446744073709551616]")},
        {ERROR_INVALID, ENTRY("F32", "[9223372036854775808]", "[0,4]")},
        {ERROR_INVALID, ENTRY("F32", "[4611686018427387904,4]", "[0,4]")},
        {ERROR_INVALID, ENTRY("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]")},
        {ERROR_UNSUPPORTED, ENTRY("C64", "[1]", "[0,8]")},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SafetensorsHeader header = {0};
        test_assert_fails(
            parse(rows[i].text, &header), rows[i].code, NULL, rows[i].text, __FILE__, __LINE__);
        assert_null(header.entries);
    }
}

static void test_safetensors_header_survives_flips_and_truncations(void **state) {
    (void)state;
    static const char text[] = "{\"__metadata__\":{\"k\":\"v\\n\"},\"x\":{\"dtype\":\"F32\","
                               "\"shape\":[2,3],\"data_offsets\":[0,24]}}";
    char copy[sizeof text];
    SafetensorsHeader header = {0};
    for (size_t size = 0; size < sizeof text - 1; size++)
        assert_fails(CORRUPT, safetensors_header_parse(text, size, &header));
    for (size_t i = 0; i < sizeof text - 1; i++)
        for (int byte = 0; byte < 256; byte++) {
            memcpy(copy, text, sizeof text);
            copy[i] = (char)byte;
            error_free(
                safetensors_header_parse(copy, sizeof text - 1, &header)); /* either is right */
            safetensors_header_deinit(&header);
        }
}

int test_safetensors_header(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safetensors_header_parses_entries),
        cmocka_unit_test(test_safetensors_header_refuses_everything_else),
        cmocka_unit_test(test_safetensors_header_survives_flips_and_truncations),
    };
    return cmocka_run_group_tests_name("safetensors_header", tests, NULL, NULL);
}
