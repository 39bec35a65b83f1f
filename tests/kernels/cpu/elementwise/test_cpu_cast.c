#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

static void check(DType from, const char *attributes, uint32_t count, const double *values,
    const double *expected) {
    DeviceCall call = {.operator_name = "Cast", .attributes = attributes, .input_count = 1};
    call.inputs[0] = device_tensor(from, values, 1, (int)count);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_integers_keep_their_lowest_bits(void **state) {
    (void)state;
    check(DTYPE_INT32, "{to=int4}", 5, (double[]){7, 8, -9, 255, -1}, (double[]){7, -8, 7, -1, -1});
    check(DTYPE_INT64, "{to=uint2}", 4, (double[]){4, -1, 0x1p40, 6}, (double[]){0, 3, 0, 2});
    check(DTYPE_INT4, "{to=uint8}", 3, (double[]){-8, -1, 7}, (double[]){248, 255, 7});
    check(DTYPE_INT2, "{to=uint4}", 4, (double[]){-2, -1, 0, 1}, (double[]){14, 15, 0, 1});
    check(DTYPE_FLOAT32, "{to=int4}", 4, (double[]){-2.9, 2.9, 9, (double)NAN},
        (double[]){-2, 2, -7, 0});
}

static void test_floats_round_to_the_nearest_and_saturate(void **state) {
    const double infinity = (double)INFINITY, nan = (double)NAN;
    (void)state;
    check(DTYPE_FLOAT32, "{to=float4e2m1}", 7, (double[]){0.25, 0.75, 5, 7, -infinity, 2.5, nan},
        (double[]){0, 1, 4, 6, -6, 2, 0});
    check(DTYPE_FLOAT64, "{to=float6e2m3}", 3, (double[]){0.0625, 7.75, -8},
        (double[]){0, 7.5, -7.5});
    check(DTYPE_FLOAT16, "{to=float6e3m2}", 3, (double[]){30, -0.0625, 1.125},
        (double[]){28, -0.0625, 1});
    check(DTYPE_FLOAT4E2M1, "{to=float8e4m3fn}", 3, (double[]){-6, 0.5, 1.5},
        (double[]){-6, 0.5, 1.5});
    check(DTYPE_INT64, "{to=float6e3m2}", 2, (double[]){18, -19}, (double[]){16, -20});
}

static void test_powers_of_two_round_as_they_are_told(void **state) {
    const double infinity = (double)INFINITY, nan = (double)NAN;
    const double values[] = {0, 1.25, 1.5, 8, 0x1.8p127, infinity, nan, -3, 0x1p-140};
    (void)state;
    check(DTYPE_FLOAT64, "{to=float8e8m0}", 9, values,
        (double[]){0x1p-127, 2, 2, 8, 0x1p127, 0x1p127, nan, 4, 0x1p-127});
    check(DTYPE_FLOAT64, "{to=float8e8m0, round_mode=\"down\"}", 9, values,
        (double[]){0x1p-127, 1, 1, 8, 0x1p127, 0x1p127, nan, 2, 0x1p-127});
    check(DTYPE_FLOAT64, "{to=float8e8m0, round_mode=\"nearest\", saturate=0}", 9, values,
        (double[]){nan, 1, 2, 8, nan, nan, nan, 4, nan});
    check(DTYPE_FLOAT8E8M0, "{to=float32}", 3, (double[]){0x1p-127, 1, nan},
        (double[]){0x1p-127, 1, nan});
}

static void test_cast_like_takes_no_more_than_the_type(void **state) {
    DeviceCall call = {.operator_name = "CastLike", .input_count = 2};
    (void)state;
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, (double[]){1.5, -2.5}, 1, 2);
    call.inputs[1] = device_tensor(DTYPE_INT4, (double[]){5, 5, 5}, 1, 3);
    everywhere_check(&call, (double[]){1, -2}, 0);
    everywhere_release(&call);
}

int test_cpu_cast(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_keep_their_lowest_bits),
        cmocka_unit_test(test_floats_round_to_the_nearest_and_saturate),
        cmocka_unit_test(test_powers_of_two_round_as_they_are_told),
        cmocka_unit_test(test_cast_like_takes_no_more_than_the_type),
    };
    return cmocka_run_group_tests_name("cpu_cast", tests, NULL, NULL);
}
