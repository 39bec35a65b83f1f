#include <math.h>
#include <stdio.h>

#include "tests/kernels/fixtures/everywhere.h"

static void check(
    const char *mode, const char *padding, DType dtype, DType grid_dtype, const double *expected) {
    static const double x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const double grid[10] = {-1, -1, 0, 0, 1, 1, 0.5, -0.5, 2, 0};
    char attributes[80];
    (void)snprintf(
        attributes, sizeof attributes, "{mode=\"%s\", padding_mode=\"%s\"}", mode, padding);
    DeviceCall call = {.operator_name = "GridSample", .attributes = attributes, .input_count = 2};
    call.inputs[0] = device_tensor(dtype, x, 4, 1, 1, 3, 3);
    call.inputs[1] = device_tensor(grid_dtype, grid, 4, 1, 1, 5, 2);
    everywhere_check(&call, expected, 1e-6);
    everywhere_release(&call);
}

static void test_each_mode_and_padding_gives_known_numbers(void **state) {
    static const DType grids[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const DType grid = grids[i];
        check("linear", "zeros", DTYPE_FLOAT32, grid, (double[]){0.25, 5, 2.25, 3.5, 0});
        check("linear", "border", DTYPE_FLOAT64, grid, (double[]){1, 5, 9, 3.5, 6});
        check("linear", "reflection", DTYPE_FLOAT16, grid, (double[]){1, 5, 9, 3.5, 5});
        check("nearest", "zeros", DTYPE_BOOL, grid, (double[]){1, 1, 1, 1, 0});
        check("nearest", "border", DTYPE_INT16, grid, (double[]){1, 5, 9, 3, 6});
        check("nearest", "reflection", DTYPE_FLOAT64, grid, (double[]){1, 5, 9, 3, 5});
        check("cubic", "zeros", DTYPE_FLOAT32, grid,
            (double[]){0.0625, 5, 2.4375, 4.0893707275390625, 0});
        check("cubic", "border", DTYPE_FLOAT32, grid, (double[]){0.625, 5, 9.375, 3.3828125, 6});
        check("cubic", "reflection", DTYPE_FLOAT64, grid, (double[]){0.25, 5, 9.75, 3.3828125, 5});
    }
    /* integers are cut off */
    check("linear", "zeros", DTYPE_INT32, DTYPE_FLOAT32, (double[]){0, 5, 2, 3, 0});
}

/* What is outside has no weight, even where the image has a NaN at its first element. */
static void test_zeros_do_not_read_the_image(void **state) {
    const double x[2] = {(double)NAN, 1}, grid[3] = {3, -7, (double)NAN};
    (void)state;
    DeviceCall call = {.operator_name = "GridSample", .attributes = NULL, .input_count = 2};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 3, 1, 1, 2);
    call.inputs[1] = device_tensor(DTYPE_FLOAT32, grid, 3, 1, 3, 1);
    everywhere_check(&call, (double[]){0, 0, 0}, 0);
    everywhere_release(&call);
}

int test_cpu_grid_sample(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_mode_and_padding_gives_known_numbers),
        cmocka_unit_test(test_zeros_do_not_read_the_image),
    };
    return cmocka_run_group_tests_name("cpu_grid_sample", tests, NULL, NULL);
}
