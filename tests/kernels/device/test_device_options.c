#include "kernels/device/device_options.h"

#include "tests/support/test_support.h"

static Error *bytes(const char *value, uint64_t *out) {
    DeviceOption option = {.name = "memory"};
    memcpy(option.value, value, strlen(value) + 1);
    return device_option_bytes(&option, out);
}

static void test_device_option_bytes_knows_units(void **state) {
    (void)state;
    uint64_t size;
    assert_ok(bytes("4096", &size));
    assert_int_equal(size, 4096);
    assert_ok(bytes("64KiB", &size));
    assert_int_equal(size, 65536);
    assert_ok(bytes("1.5GiB", &size));
    assert_int_equal(size, UINT64_C(1610612736));
    assert_ok(bytes("1TiB", &size));
    assert_int_equal(size, UINT64_C(1) << 40);
}

static void test_device_option_bytes_refuses_nonsense(void **state) {
    (void)state;
    static const char *const values[] = {
        "0", "-1", "1MB", "MiB", "nan", "inf", "1e300GiB", "1 MiB", "0.1", "99999999TiB"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        uint64_t size = 5;
        assert_fails_saying(USAGE, "is not a size", bytes(values[i], &size));
        assert_int_equal(size, 5);
    }
}

static void test_device_option_next_walks_the_list(void **state) {
    (void)state;
    const char *at = "memory=1MiB,speed=2";
    DeviceOption option;
    bool found;
    assert_ok(device_option_next(&at, &option, &found));
    assert_true(found);
    assert_string_equal(option.name, "memory");
    assert_string_equal(option.value, "1MiB");
    assert_ok(device_option_next(&at, &option, &found));
    assert_string_equal(option.name, "speed");
    assert_ok(device_option_next(&at, &option, &found));
    assert_false(found);
}

static void test_device_option_next_refuses_what_is_no_pair(void **state) {
    (void)state;
    static const char *const texts[] = {"memory", "=1", "memory=", ",", "a=1,,b=2",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *at = texts[i];
        DeviceOption option;
        bool found = true;
        Error *error = NULL;
        while (!error && found) error = device_option_next(&at, &option, &found);
        assert_fails(USAGE, error);
    }
}

static void test_device_option_count_has_ends(void **state) {
    (void)state;
    DeviceOption option = {"threads", "64"};
    uint64_t count;
    assert_ok(device_option_count(&option, 1, 64, &count));
    assert_int_equal(count, 64);
    assert_fails_saying(USAGE, "from 1 to 63", device_option_count(&option, 1, 63, &count));
}

static void test_device_option_factor_has_ends(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "x", "0", "-1", "nan", "inf", "11", "2x"};
    DeviceOption option = {"speed", "2.5"};
    double factor = 0;
    assert_ok(device_option_factor(&option, 0.5, 10, &factor));
    assert_true(factor == 2.5);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        memcpy(option.value, wrong[i], strlen(wrong[i]) + 1);
        assert_fails_saying(
            USAGE, "from 0.5 to 10", device_option_factor(&option, 0.5, 10, &factor));
        assert_true(factor == 2.5);
    }
}

int test_device_options(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_option_bytes_knows_units),
        cmocka_unit_test(test_device_option_bytes_refuses_nonsense),
        cmocka_unit_test(test_device_option_next_walks_the_list),
        cmocka_unit_test(test_device_option_next_refuses_what_is_no_pair),
        cmocka_unit_test(test_device_option_count_has_ends),
        cmocka_unit_test(test_device_option_factor_has_ends),
    };
    return cmocka_run_group_tests_name("device_options", tests, NULL, NULL);
}
