#include "tests/kernels/fixtures/cuda_fixture.h"

static const CudaCall convolutions_of_every_kind[] = {
    {"cuda.conv", "Conv", "{pads=[1, 1, 1, 1]}", DTYPES_FLOAT, 500, 1,
        "T[2,3,7,9] T[4,3,3,3] T[4]"},
    {"cuda.conv", "Conv", "{strides=[2, 1], dilations=[1, 2], group=2}", DTYPES_FLOAT, 500, 1,
        "T[1,4,9,9] T[6,2,3,2]"},
    {"cuda.conv", "Conv", "{auto_pad=\"SAME_LOWER\", strides=[3]}", DTYPES_FLOAT, 500, 1,
        "T[2,3,20] T[5,3,4] T[5]"},
    {"cuda.conv", "Conv", NULL, DTYPES_FLOAT, 500, 1, "T[1,2,4,5,6] T[3,2,2,2,3] T[3]"},
    {"cuda.conv", "FusedConv", "{activation=\"relu\", pads=[1, 1, 1, 1]}", DTYPES_FLOAT, 500, 1,
        "T[1,3,7,7] T[4,3,3,3] T[4] T[1,4,7,7]"},
};

static void test_convolutions_of_every_kind(void **state) {
    (void)state;
    cuda_fixture_check(convolutions_of_every_kind);
}

static const CudaCall convolutions_the_other_way_round[] = {
    {"cuda.conv", "ConvTranspose", "{strides=[2, 2], pads=[1, 0, 1, 0], output_padding=[1, 0]}",
        DTYPES_FLOAT & ~DTYPE_BIT(DTYPE_FLOAT64), 500, 1, "T[2,4,5,6] T[4,3,3,3] T[3]"},
    {"cuda.conv", "ConvTranspose", "{group=2, dilations=[2]}",
        DTYPES_FLOAT & ~DTYPE_BIT(DTYPE_FLOAT64), 500, 1, "T[2,4,9] T[4,3,3] T[6]"},
};

static void test_convolutions_the_other_way_round(void **state) {
    (void)state;
    cuda_fixture_check(convolutions_the_other_way_round);
}

int test_cuda_conv(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolutions_of_every_kind),
        cmocka_unit_test(test_convolutions_the_other_way_round),
    };
    return cmocka_run_group_tests_name("cuda_conv", tests, NULL, NULL);
}
