#include "kernels/cpu/pool/cpu_pool_row.h"

#include <math.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

static void test_pool_rows_take_what_lies_inside(void **state) {
    (void)state;
    const float x[5] = {3, -1, 4, NAN, 5};
    for (int level = 0; level <= (int)((CpuDevice *)kernel_cpu_device())->level; level++) {
        const CpuPoolRow *row = cpu_pool_row_for((CpuLevel)level, DTYPE_FLOAT32, false);
        float y[4];
        row->start(y, 4);
        row->take(x, -2, 2, 5, 4, y); /* nothing, 3, 4, 5 */
        assert_true(y[0] == -INFINITY && y[1] == 3 && y[2] == 4 && y[3] == 5);
        row->take(x, -1, 2, 5, 4, y); /* nothing, -1, NaN, nothing */
        assert_true(y[0] == -INFINITY && y[1] == 3 && isnan(y[2]) && y[3] == 5);
        row->take(x, 0, 1, 5, 4, y);
        assert_true(y[0] == 3 && y[1] == 3 && isnan(y[2]) && isnan(y[3]));
        assert_true(row->same(&y[2], &x[3]));
    }
}

static void test_pool_rows_exist_for_the_types_of_the_operators(void **state) {
    (void)state;
    assert_non_null(cpu_pool_row_for(CPU_LEVEL_PORTABLE, DTYPE_UINT8, false));
    assert_null(cpu_pool_row_for(CPU_LEVEL_PORTABLE, DTYPE_UINT8, true));
    assert_null(cpu_pool_row_for(CPU_LEVEL_PORTABLE, DTYPE_INT64, false));
}

int test_cpu_pool_row(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_rows_take_what_lies_inside),
        cmocka_unit_test(test_pool_rows_exist_for_the_types_of_the_operators),
    };
    return cmocka_run_group_tests_name("cpu_pool_row", tests, NULL, NULL);
}
