#include "tests/conformance/conformance_random.h"
#include "tests/conformance/suite_test.h"

/* Sanitizers and sim's bounds watch what the checks cannot see. */
static void test_any_call_gives_a_result_or_an_error(void **state) {
    (void)state;
    suite_test("sim:0", "random");
    suite_test("sim:0,lacks=*", "random");
}

/* Neither what all devices do nor what all refuse would say much. */
static void test_random_calls_are_neither_all_done_nor_all_refused(void **state) {
    (void)state;
    ConformanceDevice on;
    uint64_t seed = 20240229;
    uint32_t done_count = 0;
    assert_ok(conformance_device_open("cpu", &on));
    for (uint32_t i = 0; i < case_table_count; i++) {
        DTypeSet dtypes = case_table_dtypes(&case_table[i]);
        uint32_t dtype = 0;
        bool done;
        while (!(dtypes >> dtype & 1)) dtype++;
        assert_ok(conformance_random_call(&on, &case_table[i], (DType)dtype, &seed, &done));
        done_count += done;
    }
    conformance_device_deinit(&on);
    assert_true(done_count > case_table_count / 5 && done_count < case_table_count * 4 / 5);
}

int test_random_calls(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_call_gives_a_result_or_an_error),
        cmocka_unit_test(test_random_calls_are_neither_all_done_nor_all_refused),
    };
    return cmocka_run_group_tests_name("random_calls", tests, NULL, NULL);
}
