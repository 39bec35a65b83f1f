#include "tests/kernels/fixtures/bytes_call.h"

/* batch, groups, channels, filters, rank, input, kernel, stride, dilation, begin, end */
static const BytesCase cases[] = {
    /* rows of images that make blocks together; steps of each number of rows */
    {{1, 1, 9, 20, 2, {7, 7}, {1, 3}, {1, 1}, {1, 1}, {0, 1}, {0, 1}}, DTYPE_UINT8, DTYPE_INT8, 7,
        0, false},
    {{2, 1, 5, 3, 2, {3, 13}, {3, 3}, {2, 2}, {1, 1}, {1, 0}, {1, 2}}, DTYPE_INT8, DTYPE_INT8, -3,
        0, false},
    /* groups, and taps apart: pieces of one tap */
    {{1, 3, 6, 17, 2, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, DTYPE_UINT8, DTYPE_UINT8, 99,
        128, false},
    {{1, 1, 3, 18, 2, {8, 20}, {2, 3}, {1, 2}, {3, 2}, {2, 0}, {1, 4}}, DTYPE_INT8, DTYPE_UINT8, 5,
        3, false},
    /* more pieces than are multiplied at once; pieces whose weights no near cache holds */
    {{1, 2, 1, 2, 2, {9, 9}, {7, 7}, {1, 1}, {1, 1}, {3, 3}, {3, 3}}, DTYPE_UINT8, DTYPE_INT8, 1, 0,
        false},
    {{1, 1, 601, 5, 2, {3, 5}, {2, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}, DTYPE_UINT8, DTYPE_INT8,
        128, -9, false},
};

static void test_sums_are_those_of_the_definition(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        bytes_call_check(&cases[i], "cpu.bytes_conv");
}

int test_cpu_bytes_sums(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_are_those_of_the_definition),
    };
    return cmocka_run_group_tests_name("cpu_bytes_sums", tests, NULL, NULL);
}
