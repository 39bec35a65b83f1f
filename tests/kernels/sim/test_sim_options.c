#include "kernels/sim/sim_options.h"

#include "tests/support/test_support.h"

static void test_sim_options_reads_all_of_them(void **state) {
    (void)state;
    SimOptions options;
    assert_ok(sim_options_read("memory=64MiB,lacks=Conv+Softmax,speed=2,bandwidth=1GiB,lag=30,"
                               "fail-alloc=1,fail-copy=2,fail-launch=3,lose-after=4",
        &options));
    assert_int_equal(options.memory_bytes, 64 << 20);
    assert_string_equal(options.lacks, "+Conv+Softmax+");
    assert_true(options.speed == 2);
    assert_int_equal(options.bandwidth, 1 << 30);
    assert_int_equal(options.lag_us, 30);
    assert_int_equal(options.fail_alloc, 1);
    assert_int_equal(options.fail_copy, 2);
    assert_int_equal(options.fail_launch, 3);
    assert_int_equal(options.lose_after, 4);
}

static void test_sim_options_without_any_is_a_device_without_faults(void **state) {
    (void)state;
    SimOptions options;
    assert_ok(sim_options_read("", &options));
    assert_int_equal(options.memory_bytes, 1 << 30);
    assert_string_equal(options.lacks, "");
    assert_true(options.speed == 0);
    assert_int_equal(options.bandwidth, 0);
    assert_int_equal(options.fail_alloc, 0);
    assert_int_equal(options.fail_copy, 0);
    assert_int_equal(options.fail_launch, 0);
    assert_int_equal(options.lose_after, 0);
}

static void test_sim_options_refuses_with_the_name(void **state) {
    (void)state;
    static const struct {
        const char *options, *words;
    } wrong[] = {
        {"colour=red", "sim has no option \"colour\"; there are: memory, lacks, speed, bandwidth, "
                       "lag, fail-alloc, fail-copy, fail-launch, lose-after"},
        {"memory=much", "memory=much"},
        {"bandwidth=0", "bandwidth=0"},
        {"speed=fast", "speed=fast"},
        {"speed=0", "speed=0"},
        {"lag=0", "lag=0"},
        {"lag=1000001", "lag=1000001"},
        {"fail-alloc=0", "fail-alloc=0"},
        {"fail-copy=-1", "fail-copy=-1"},
        {"fail-launch=x", "fail-launch=x"},
        {"lose-after=1.5", "lose-after=1.5"},
        {"lose-after", "lose-after"},
        {"lacks=Nothing", "no operator \"Nothing\""},
        {"lacks=Conv+Conv+Conv+Conv+Conv+Conv+Conv+Conv+Conv+Conv+Conv+Conv+Co", "letters"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        SimOptions options = {.memory_bytes = 5};
        assert_fails_saying(USAGE, wrong[i].words, sim_options_read(wrong[i].options, &options));
        assert_int_equal(options.memory_bytes, 5);
    }
}

int test_sim_options(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_options_reads_all_of_them),
        cmocka_unit_test(test_sim_options_without_any_is_a_device_without_faults),
        cmocka_unit_test(test_sim_options_refuses_with_the_name),
    };
    return cmocka_run_group_tests_name("sim_options", tests, NULL, NULL);
}
