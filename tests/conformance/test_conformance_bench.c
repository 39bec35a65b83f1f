#include "tests/conformance/conformance_bench.h"

#include "tests/support/test_support.h"

static const ConformanceCase *find(const char *operator_name, const char *inputs) {
    for (uint32_t i = 0; i < case_table_count; i++)
        if (strcmp(case_table[i].operator_name, operator_name) == 0 &&
            strcmp(case_table[i].inputs, inputs) == 0)
            return &case_table[i];
    fail_msg("no row %s %s", operator_name, inputs);
    return NULL;
}

/* Two operations for each term of a sum of products; nothing where there is no such sum. */
static void test_bench_counts_bytes_and_operations(void **state) {
    (void)state;
    static const struct {
        const char *name, *inputs;
        uint64_t bytes, operations;
    } rows[] = {
        {"Add", "T[2,3,4] T[2,3,4]", 3 * 96, 0},
        {"MatMul", "T[3,5] T[5,4]", 4 * (15 + 20 + 12), 2 * 3 * 5 * 4},
        {"Gemm", "T[5,3] T[5,4] T[3,1]", 4 * (15 + 20 + 3 + 12), 2 * 3 * 5 * 4},
        {"Conv", "T[1,4,6,6] T[4,1,3,3] T[4]", 4 * (144 + 36 + 4 + 64), 2 * 64 * 9},
        {"FusedAttention", "T[2,3,5,8] T[2,3,7,8] T[2,3,7,6]", 4 * 6 * (40 + 56 + 42 + 30),
            2 * 6 * 5 * 7 * (8 + 6)},
    };
    ConformanceDevice on;
    assert_ok(conformance_device_open("sim:0", &on));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ConformanceTime time;
        const ConformanceCase *row = find(rows[i].name, rows[i].inputs);
        assert_ok(conformance_bench(&on, row, DTYPE_FLOAT32, 1, &time));
        assert_int_equal(time.bytes, rows[i].bytes);
        assert_int_equal(time.operations, rows[i].operations);
        assert_true(time.min_ns > 0 && time.repetitions >= 5 && time.kernel_name);
    }
    conformance_device_deinit(&on);
}

static void test_bench_of_a_view_measures_nothing(void **state) {
    (void)state;
    ConformanceDevice on;
    ConformanceTime time;
    assert_ok(conformance_device_open("cpu", &on));
    assert_ok(conformance_bench(&on, find("Identity", "T[2,3]"), DTYPE_FLOAT32, 1, &time));
    assert_true(time.view && time.repetitions == 0);
    conformance_device_deinit(&on);
}

int test_conformance_bench(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bench_counts_bytes_and_operations),
        cmocka_unit_test(test_bench_of_a_view_measures_nothing),
    };
    return cmocka_run_group_tests_name("conformance_bench", tests, NULL, NULL);
}
