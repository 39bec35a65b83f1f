#include "tests/kernels/fixtures/infer_fixture.h"

static void test_rules_leave_open_what_only_the_data_decides(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"Compress", "{axis=1}", "int8[3,4] bool[2]", "int8[3, -1]"},
        {"Compress", "{axis=-2}", "float16[3,4] bool[3]", "float16[-1, 4]"},
        {"Compress", NULL, "bool[3,4] bool[12]", "bool[-1]"},
        {"Compress", "{axis=1}", "int8[3,4] bool[5]", "! 5 conditions for 4 elements"},
        {"Compress", NULL, "int8[3,4] bool[13]", "! 13 conditions for 12 elements"},
        {"Compress", "{axis=2}", "int8[3,4] bool[2]", "! axis 2 of rank 2"},
        {"Compress", NULL, "int8[3,4] uint8[2]", "! input 1 is uint8"},
        {"Compress", NULL, "int8[3,4] bool[2,1]", "! input 1 has rank 2"},
        {"Unique", NULL, "float32[3,4]", "float32[-1] int64[-1] int64[12] int64[-1]"},
        {"Unique", NULL, "bool[]", "bool[-1]"},
        {"Unique", "{axis=-1}", "int8[3,4]", "int8[3, -1] int64[-1] int64[4] int64[-1]"},
        {"Unique", "{axis=2}", "int8[3,4]", "! axis 2 of rank 2"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_data(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_leave_open_what_only_the_data_decides),
    };
    return cmocka_run_group_tests_name("shape_data", tests, NULL, NULL);
}
