#include "kernels/cpu/recurrent/cpu_recurrent.h"

#include "tests/kernels/fixtures/kernel_call.h"

enum { COUNT = 19 };

static void check(CpuLevel level) {
    const CpuRecurrentRows rows = cpu_recurrent_rows_for(level);
    float a[COUNT], b[COUNT], c[COUNT], to[5][COUNT];
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)i / 16, b[i] = (float)(i * i), c[i] = (float)(7 - i);
        for (int row = 0; row < 5; row++) to[row][i] = (float)(3 * i + 1);
    }
    rows.add(a, b, COUNT, to[0]);
    rows.multiply(a, b, COUNT, to[1]);
    rows.multiply_add(a, b, COUNT, to[2]);
    rows.combine(a, b, c, COUNT, to[3]);
    rows.blend(a, b, COUNT, to[4]);
    for (int i = 0; i < COUNT; i++) {
        const float old = (float)(3 * i + 1);
        assert_true(to[0][i] == a[i] + b[i]);
        assert_true(to[1][i] == a[i] * b[i]);
        assert_true(to[2][i] == old + a[i] * b[i]);
        assert_true(to[3][i] == a[i] * old + b[i] * c[i]);
        assert_true(to[4][i] == (1.0f - a[i]) * b[i] + a[i] * old);
    }
}

static void test_recurrent_rows_are_computed_element_by_element(void **state) {
    (void)state;
    check(CPU_LEVEL_PORTABLE);
    check(cpu_device(kernel_cpu_device())->level);
}

int test_cpu_recurrent_rows(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recurrent_rows_are_computed_element_by_element),
    };
    return cmocka_run_group_tests_name("cpu_recurrent_rows", tests, NULL, NULL);
}
