#include "tests/kernels/fixtures/cuda_fixture.h"

static const CudaCall random_numbers_have_the_bits_of_the_cpu[] = {
    {"cuda.random", "RandomUniform", "{shape=[3, 700], dtype=float32, low=-2.0}",
        DTYPE_BIT(DTYPE_NONE), 0, 1, ""},
    {"cuda.random", "RandomNormal", "{shape=[700], dtype=float32, mean=3.0, scale=0.5}",
        DTYPE_BIT(DTYPE_NONE), 0, 1, ""},
    {"cuda.random", "RandomNormal", "{shape=[70], dtype=float32, seed=5.0}", DTYPE_BIT(DTYPE_NONE),
        0, 1, ""},
    {"cuda.random", "RandomUniform", "{shape=[3, 700], dtype=float64, low=-2.0}",
        DTYPE_BIT(DTYPE_NONE), 0, 1, ""},
    {"cuda.random", "RandomNormal", "{shape=[700], dtype=float64, mean=3.0, scale=0.5}",
        DTYPE_BIT(DTYPE_NONE), 0, 1, ""},
    {"cuda.random", "RandomNormal", "{shape=[70], dtype=float64, seed=5.0}", DTYPE_BIT(DTYPE_NONE),
        0, 1, ""},
    {"cuda.random", "RandomUniform", "{shape=[3, 700], dtype=float16, low=-2.0}",
        DTYPE_BIT(DTYPE_NONE), 0, 1, ""},
    {"cuda.random", "RandomNormal", "{shape=[700], dtype=float16, mean=3.0, scale=0.5}",
        DTYPE_BIT(DTYPE_NONE), 0, 1, ""},
    {"cuda.random", "RandomNormal", "{shape=[70], dtype=float16, seed=5.0}", DTYPE_BIT(DTYPE_NONE),
        0, 1, ""},
    {"cuda.random", "RandomUniform", "{shape=[3, 700], dtype=bfloat16, low=-2.0}",
        DTYPE_BIT(DTYPE_NONE), 0, 1, ""},
    {"cuda.random", "RandomNormal", "{shape=[700], dtype=bfloat16, mean=3.0, scale=0.5}",
        DTYPE_BIT(DTYPE_NONE), 0, 1, ""},
    {"cuda.random", "RandomNormal", "{shape=[70], dtype=bfloat16, seed=5.0}", DTYPE_BIT(DTYPE_NONE),
        0, 1, ""},
};

static void test_random_numbers_have_the_bits_of_the_cpu(void **state) {
    (void)state;
    cuda_fixture_check(random_numbers_have_the_bits_of_the_cpu);
}

int test_cuda_random(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_numbers_have_the_bits_of_the_cpu),
    };
    return cmocka_run_group_tests_name("cuda_random", tests, NULL, NULL);
}
