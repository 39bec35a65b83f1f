#include "kernels/cuda/library/cuda_cublas.h"

#include "tests/kernels/fixtures/cuda_device_fixture.h"

/* A [2, 3] times B [3, 2], both as C has them. */
static CudaCublasProblem plain_problem(void) {
    return (CudaCublasProblem){.type = CUDA_R_32F,
        .compute = CUBLAS_COMPUTE_32F,
        .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
        .left = {2, 3, 2, 0, false},
        .right = {3, 2, 3, 0, false},
        .to = {2, 2, 2, 0, false},
        .batch_count = 1,
        .alpha = 1};
}

static void test_cuda_cublas_finds_the_same_algorithm_each_time(void **state) {
    (void)state;
    OWN(Device, base) = cuda_device_fixture_get("");
    CudaDevice *device = cuda_device(base);
    const CudaCublasProblem problem = plain_problem();
    CudaCublasProduct products[2];
    for (int i = 0; i < 2; i++) {
        bool found = false;
        assert_ok(cuda_cublas_init(device, &problem, &products[i], &found));
        assert_true(found);
    }
    assert_memory_equal(
        &products[0].algorithm, &products[1].algorithm, sizeof products[0].algorithm);
    assert_int_equal(products[0].workspace_bytes, products[1].workspace_bytes);
    for (int i = 0; i < 2; i++) cuda_cublas_deinit(device, &products[i]);
}

static void test_cuda_cublas_multiplies_on_a_stream(void **state) {
    (void)state;
    static const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 8, 9, 10, 11, 12};
    static const float expected[] = {58, 64, 139, 154};
    OWN(Device, base) = cuda_device_fixture_get("");
    CudaDevice *device = cuda_device(base);
    const CudaCublasProblem problem = plain_problem();
    CudaCublasProduct product;
    bool found = false;
    uint64_t memory;
    float c[4];
    assert_ok(cuda_cublas_init(device, &problem, &product, &found));
    assert_ok(base->class_->alloc(base, NULL, 4096, &memory));
    const CudaCublasAddresses at = {
        .left = memory + 64, .right = memory, .to = memory + 128, .workspace = memory + 1024};
    assert_ok(base->class_->copy_from_host(base, NULL, at.right, a, sizeof a));
    assert_ok(base->class_->copy_from_host(base, NULL, at.left, b, sizeof b));
    CUDA_SCOPE(scope);
    assert_ok(cuda_scope_enter(device, &scope));
    assert_ok(cuda_cublas_run(device, &product, &at, device->idle));
    assert_ok(base->class_->copy_to_host(base, NULL, c, at.to, sizeof c));
    assert_memory_equal(c, expected, sizeof c);
    base->class_->free(base, NULL, memory, 4096);
    cuda_cublas_deinit(device, &product);
}

static void test_cuda_cublas_names_what_the_library_refuses(void **state) {
    (void)state;
    OWN(Device, base) = cuda_device_fixture_get("");
    CudaDevice *device = cuda_device(base);
    CudaCublasProblem problem = plain_problem();
    CudaCublasProduct product;
    bool found = true;
    problem.left.step = 1; /* columns would overlap */
    assert_fails_saying(FAILED, "cublasLtMatrixLayoutCreate: CUBLAS_STATUS_INVALID_VALUE",
        cuda_cublas_init(device, &problem, &product, &found));
    assert_false(found);
}

int test_cuda_cublas(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_cublas_finds_the_same_algorithm_each_time),
        cmocka_unit_test(test_cuda_cublas_multiplies_on_a_stream),
        cmocka_unit_test(test_cuda_cublas_names_what_the_library_refuses),
    };
    return cmocka_run_group_tests_name("cuda_cublas", tests, NULL, NULL);
}
