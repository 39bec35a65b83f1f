#include "base/utf8.h"

#include <string.h>

#include "tests/support/test_support.h"

static void test_utf8_points_go_in_and_out(void **state) {
    (void)state;
    static const uint32_t points[] = {0, 'a', 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        char bytes[4];
        size_t at = 0, size = utf8_put(points[i], bytes);
        assert_int_equal(utf8_next(bytes, &at), points[i]);
        assert_int_equal(at, size);
    }
}

static void test_utf8_letters_have_one_other_case(void **state) {
    (void)state;
    static const uint32_t pairs[][2] = {{'A', 'a'}, {'Z', 'z'}, {0xC4, 0xE4}, {0x100, 0x101},
        {0x178, 0xFF}, {0x391, 0x3B1}, {0x386, 0x3AC}, {0x410, 0x430}, {0x401, 0x451},
        {0x531, 0x561}, {0x1E00, 0x1E01}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        assert_int_equal(utf8_to_lower(pairs[i][0]), pairs[i][1]);
        assert_int_equal(utf8_to_upper(pairs[i][1]), pairs[i][0]);
        assert_int_equal(utf8_to_lower(pairs[i][1]), pairs[i][1]);
        assert_int_equal(utf8_to_upper(pairs[i][0]), pairs[i][0]);
    }
    static const uint32_t alone[] = {'1', 0xD7, 0xF7, 0xDF, 0x130, 0x131, 0x138, 0x149, 0x4E00};
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++) {
        assert_int_equal(utf8_to_lower(alone[i]), alone[i]);
        assert_int_equal(utf8_to_upper(alone[i]), alone[i]);
    }
}

static void test_utf8_knows_white_space(void **state) {
    (void)state;
    static const uint32_t spaces[] = {' ', '\t', '\n', '\r', 0x1C, 0x85, 0xA0, 0x2003, 0x3000};
    static const uint32_t others[] = {0, 8, 14, 'a', '_', 0x200B, 0xFEFF};
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
        assert_true(utf8_is_space(spaces[i]));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(utf8_is_space(others[i]));
}

int test_utf8(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8_points_go_in_and_out),
        cmocka_unit_test(test_utf8_letters_have_one_other_case),
        cmocka_unit_test(test_utf8_knows_white_space),
    };
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
