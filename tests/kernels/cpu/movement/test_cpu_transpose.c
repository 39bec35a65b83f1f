#include "kernels/cpu/movement/cpu_transpose.h"

#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

enum { SIDE = 70 };

/* gap: elements between rows of the result. */
static void check(
    CpuTranspose *transpose, const uint32_t *from, int64_t rows, int64_t columns, int64_t gap) {
    static uint32_t to[SIDE * SIDE];
    const int64_t step = columns + gap;
    memset(to, 0xEE, sizeof to);
    transpose((char *)(to + 1), step * 4, (const char *)from, SIDE * 4, rows, columns);
    for (int64_t j = 0; j < rows; j++) {
        for (int64_t i = 0; i < columns; i++)
            assert_int_equal(to[1 + j * step + i], from[i * SIDE + j]);
        for (int64_t i = columns; i < step; i++) /* nothing beside it */
            assert_int_equal(to[1 + j * step + i], 0xEEEEEEEE);
    }
    assert_int_equal(to[0], 0xEEEEEEEE);
    assert_int_equal(to[1 + rows * step], 0xEEEEEEEE);
}

/* Squares and what is left of them, at every level. */
static void test_transpose_moves_every_element(void **state) {
    (void)state;
    static uint32_t from[SIDE * SIDE];
    static const int64_t sizes[] = {1, 2, 3, 4, 8, 15, 16, 17, 33, 34, 49, 64};
    for (uint32_t i = 0; i < SIDE * SIDE; i++) from[i] = i;
    for (int level = 0; level <= (int)((CpuDevice *)kernel_cpu_device())->level; level++)
        for (size_t a = 0; a < sizeof sizes / sizeof *sizes; a++)
            for (size_t b = 0; b < sizeof sizes / sizeof *sizes; b++)
                for (int64_t gap = 0; gap < 2; gap++)
                    check(cpu_transpose_for((CpuLevel)level), from, sizes[a], sizes[b], gap);
}

int test_cpu_transpose(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transpose_moves_every_element),
    };
    return cmocka_run_group_tests_name("cpu_transpose", tests, NULL, NULL);
}
