#include "kernels/cuda/driver/cuda_options.h"
#include "tests/support/test_support.h"

static void test_cuda_options_read_what_a_spec_says(void **state) {
    (void)state;
    CudaOptions options;
    assert_ok(cuda_options_read("", &options));
    assert_int_equal(options.memory_bytes, 0);
    assert_false(options.tf32);
    assert_false(options.graphs);
    assert_false(options.interprets);
    assert_ok(cuda_options_read("memory=2MiB,tf32=on,graphs=on", &options));
    assert_int_equal(options.memory_bytes, 2 << 20);
    assert_true(options.tf32);
    assert_true(options.graphs);
    assert_ok(cuda_options_read("tf32=off,compile=off", &options));
    assert_false(options.tf32);
    assert_true(options.interprets);
    assert_ok(cuda_options_read("compile=on", &options));
    assert_false(options.interprets);
}

static void test_cuda_options_refuse_what_they_do_not_know(void **state) {
    (void)state;
    CudaOptions options = {.memory_bytes = 7};
    assert_fails_saying(
        USAGE, "memory, tf32, graphs, compile", cuda_options_read("lag=1", &options));
    assert_fails_saying(
        USAGE, "tf32=yes is neither on nor off", cuda_options_read("tf32=yes", &options));
    assert_fails(USAGE, cuda_options_read("memory=no", &options));
    assert_fails(USAGE, cuda_options_read("memory", &options));
    assert_int_equal(options.memory_bytes, 7);
}

int test_cuda_options(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_options_read_what_a_spec_says),
        cmocka_unit_test(test_cuda_options_refuse_what_they_do_not_know),
    };
    return cmocka_run_group_tests_name("cuda_options", tests, NULL, NULL);
}
