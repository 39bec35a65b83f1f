#include "base/nearest.h"

#include "tests/support/test_support.h"

static const char *find(const char *wanted) {
    static const char *const names[] = {
        "nn.conv2d", "nn.relu", "nn.softmax", "add", "abs", "concatenate", "a", "split"};
    Nearest nearest = nearest_to(wanted);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) nearest_try(&nearest, names[i]);
    return nearest.found;
}

static void test_nearest_finds_names_with_a_fault(void **state) {
    (void)state;
    assert_string_equal(find("nn.con2d"), "nn.conv2d");
    assert_string_equal(find("nn.rleu"), "nn.relu");
    assert_string_equal(find("softmax"), "nn.softmax");
    assert_string_equal(find("conatenate"), "concatenate");
    assert_string_equal(find("ad"), "add");
}

static void test_nearest_finds_nothing_far_away(void **state) {
    (void)state;
    static const char *const wanted[] = {"nn.attention", "x", "", "tanh", "yy"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) assert_null(find(wanted[i]));
    char long_name[200] = {0};
    for (size_t i = 0; i + 1 < sizeof long_name; i++) long_name[i] = 'a';
    assert_null(find(long_name));
    Nearest nearest = nearest_to("add");
    nearest_try(&nearest, long_name);
    assert_null(nearest.found);
}

int test_nearest(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest_finds_names_with_a_fault),
        cmocka_unit_test(test_nearest_finds_nothing_far_away),
    };
    return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
