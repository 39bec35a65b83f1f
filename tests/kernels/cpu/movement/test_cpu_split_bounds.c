#include "tests/kernels/fixtures/everywhere.h"

static void check(
    uint32_t split_rank, int64_t split_count, const double *split, const double *expected) {
    static const double shape[1] = {7};
    DeviceCall call = {.operator_name = "SplitBounds", .input_count = split ? 2 : 1};
    call.inputs[0] = device_tensor(DTYPE_INT64, shape, 1, 1);
    if (split && split_rank == 0) call.inputs[1] = device_tensor(DTYPE_INT64, split, 0);
    if (split && split_rank == 1)
        call.inputs[1] = device_tensor(DTYPE_INT32, split, 1, (int)split_count);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_bounds_are_where_pieces_begin_and_the_last_ends(void **state) {
    (void)state;
    check(0, 1, NULL, (double[]){0, 1, 2, 3, 4, 5, 6, 7});
    check(0, 1, (double[]){3}, (double[]){0, 3, 6, 7});
    check(0, 1, (double[]){9}, (double[]){0, 7});
    check(1, 3, (double[]){4, 0, 3}, (double[]){0, 4, 4, 7});
}

int test_cpu_split_bounds(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds_are_where_pieces_begin_and_the_last_ends),
    };
    return cmocka_run_group_tests_name("cpu_split_bounds", tests, NULL, NULL);
}
