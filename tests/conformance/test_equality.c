#include "tests/conformance/suite_test.h"

static void test_cpu_gives_equal_bits_whatever_varies(void **state) {
    (void)state;
    suite_test("cpu:threads=8", "equality");
}

static void test_sim_gives_equal_bits_whatever_varies(void **state) {
    (void)state;
    suite_test("sim:0", "equality");
}

/* Its own kernels are cpu's, so its bits are too; the large rows among them. */
static void test_sim_and_cpu_give_equal_bits(void **state) {
    (void)state;
    TEST_OF_RESULTS();
    suite_test("sim:1", "peer");
}

/* Plain operators round more often than fused ones, and the class says so. */
static void test_a_device_without_kernels_is_near_the_cpu(void **state) {
    (void)state;
    TEST_OF_RESULTS();
    suite_test("sim:0,lacks=*", "peer");
}

int test_equality(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_gives_equal_bits_whatever_varies),
        cmocka_unit_test(test_sim_gives_equal_bits_whatever_varies),
        cmocka_unit_test(test_sim_and_cpu_give_equal_bits),
        cmocka_unit_test(test_a_device_without_kernels_is_near_the_cpu),
    };
    return cmocka_run_group_tests_name("equality", tests, NULL, NULL);
}
