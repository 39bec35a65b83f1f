#include "kernels/cuda/driver/cuda_symbols.h"

#include "tests/kernels/fixtures/cuda_device_fixture.h"

static void test_cuda_symbols_has_every_function_of_a_loaded_library(void **state) {
    (void)state;
    assert_ok(cuda_symbols_load(CUDA_LIBRARY_DRIVER));
    assert_ok(cuda_symbols_load(CUDA_LIBRARY_DRIVER));
    const CudaSymbols *symbols = cuda_symbols_get();
    assert_non_null(symbols->cuInit);
    assert_non_null(symbols->cuLaunchKernel);
}

static void test_cuda_symbols_start_names_both_versions(void **state) {
    (void)state;
    const CudaSymbols *symbols = NULL;
    assert_fails_saying(UNSUPPORTED, "is for CUDA 13.0, this needs one for CUDA 13.1",
        cuda_symbols_start(13010, &symbols));
    assert_null(symbols);
    assert_ok(cuda_symbols_start(13000, &symbols));
    assert_ptr_equal(symbols, cuda_symbols_get());
}

int test_cuda_symbols(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_symbols_has_every_function_of_a_loaded_library),
        cmocka_unit_test(test_cuda_symbols_start_names_both_versions),
    };
    return cmocka_run_group_tests_name("cuda_symbols", tests, NULL, NULL);
}
