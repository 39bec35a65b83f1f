#include "kernels/cpu/matmul/cpu_matmul_kernel.h"

#include <pthread.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"
#include "tests/kernels/fixtures/matmul_fixture.h"

/* A launch that is told to stop does so between tiles and says it. */
static void test_matmul_run_is_abandoned_when_asked(void **state) {
    (void)state;
    float a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1}, c[4] = {0};
    CpuMatmul matmul = matmul_fixture_make(2, 2, 2);
    CpuDevice *device = (CpuDevice *)kernel_cpu_device();
    cpu_matmul_prepare(&matmul, device->level);
    const CpuMatmulBuffers buffers = {.a = a, .b = b, .c = c};
    const Launch launch = {.threads = 1};
    KernelStop stop;
    kernel_stop_init(&stop);
    kernel_stop_want(&stop, KERNEL_STOP_ABANDON);
    kernel_stop_scope = (KernelStopScope){.stop = &stop, .whole = true};
    assert_fails(ABANDONED, cpu_matmul_run(device, &matmul, &buffers, &launch));
    kernel_stop_clear(&stop);
    assert_true(c[0] == 0);
    assert_ok(cpu_matmul_run(device, &matmul, &buffers, &launch));
    kernel_stop_scope = (KernelStopScope){0};
    kernel_stop_deinit(&stop);
    assert_memory_equal(c, a, sizeof a);
}

/* Column by column reading gives the bits of reading by rows: packing happens in the workspace. */
static void test_matmul_packs_columns_that_are_not_adjacent(void **state) {
    (void)state;
    enum { M = 7, N = 90, K = 33 };
    float *a = kernel_random_floats(1, M * K), *b = kernel_random_floats(2, K * N);
    float transposed[K * N], c[2][M * N];
    for (int i = 0; i < K * N; i++) transposed[i % N * K + i / N] = b[i];
    CpuDevice *device = (CpuDevice *)kernel_cpu_device();
    const Launch launch = {.threads = 3};
    for (int i = 0; i < 2; i++) {
        CpuMatmul matmul = matmul_fixture_make(M, N, K);
        if (i) matmul.b_row = 1, matmul.b_column = K;
        cpu_matmul_prepare(&matmul, device->level);
        assert_int_equal(cpu_matmul_scratch_count(&matmul), i ? K * 96 : 0);
        float *scratch = malloc((size_t)cpu_matmul_scratch_count(&matmul) * sizeof(float) + 4);
        const CpuMatmulBuffers buffers = {
            .a = a, .b = i ? transposed : b, .c = c[i], .scratch = scratch};
        assert_ok(cpu_matmul_run(device, &matmul, &buffers, &launch));
        free(scratch);
    }
    assert_memory_equal(c[0], c[1], sizeof c[0]);
    free(a);
    free(b);
}

/* A row's bits do not depend on the other rows of the batch, nor on B's panels, on
 * threads and on the order of panels. */
static void test_matmul_gives_a_row_the_same_bits_in_any_batch(void **state) {
    (void)state;
    enum { M = 130, K = 700, N = 470 };
    float *a = kernel_random_floats(3, M * K), *b = kernel_random_floats(4, K * N);
    float *all = malloc(M * N * sizeof(float)), one[N];
    assert_non_null(all);
    CpuDevice *device = (CpuDevice *)kernel_cpu_device();
    CpuMatmul matmul = matmul_fixture_make(M, N, K);
    cpu_matmul_prepare(&matmul, device->level);
    Launch launch = {.threads = 2};
    CpuMatmulBuffers buffers = {.a = a, .b = b, .c = all};
    float *packed = malloc((size_t)cpu_matmul_packed_count(K, N) * sizeof(float));
    assert_non_null(packed);
    cpu_matmul_pack(&matmul.code, b, N, 1, K, N, packed);
    assert_ok(cpu_matmul_run(device, &matmul, &buffers, &launch));
    matmul.rows = 1;
    buffers.c = one;
    for (int row = 0; row < M; row += 43) {
        buffers.a = a + row * K;
        assert_ok(cpu_matmul_run(device, &matmul, &buffers, &launch));
        assert_memory_equal(one, all + row * N, sizeof one);
    }
    matmul.b_packed = true;
    buffers.b = packed;
    for (int i = 0; i < 6; i++) { /* each count of threads there and back */
        launch.threads = 1 + (uint32_t)i / 2;
        memset(one, 0, sizeof one);
        assert_ok(cpu_matmul_run(device, &matmul, &buffers, &launch));
        assert_memory_equal(one, all + 129 * N, sizeof one);
    }
    float bias[N];
    for (int i = 0; i < N; i++) bias[i] = (float)i;
    matmul.has_bias = true, matmul.bias_column = 1;
    buffers.bias = bias;
    assert_ok(cpu_matmul_run(device, &matmul, &buffers, &launch));
    for (int i = 0; i < N; i++) assert_true(one[i] == all[129 * N + i] + bias[i]);
    free(packed);
    free(all);
    free(a);
    free(b);
}

static void test_threads_that_share_rows_give_the_same_bits(void **state) {
    (void)state;
    enum { M = 1001, K = 37, N = 150 };
    float *a = kernel_random_floats(3, M * K), *b = kernel_random_floats(4, K * N);
    float *c[2] = {kernel_random_floats(5, M * N), kernel_random_floats(6, M * N)};
    float *packed = malloc((size_t)cpu_matmul_packed_count(K, N) * sizeof(float));
    assert_non_null(packed);
    CpuDevice *device = (CpuDevice *)kernel_cpu_device();
    CpuMatmul matmul = matmul_fixture_make(M, N, K);
    matmul.b_packed = true;
    cpu_matmul_prepare(&matmul, device->level);
    cpu_matmul_pack(&matmul.code, b, N, 1, K, N, packed);
    for (uint32_t threads = 1; threads <= 3; threads++) {
        const CpuMatmulBuffers buffers = {.a = a, .b = packed, .c = c[threads > 1]};
        const Launch launch = {.threads = threads};
        assert_int_equal(cpu_matmul_shares_rows(threads, M, N, K), threads > 1);
        memset(c[1], 0xFF, M * N * sizeof(float));
        assert_ok(cpu_matmul_run(device, &matmul, &buffers, &launch));
        if (threads > 1) assert_memory_equal(c[0], c[1], M * N * sizeof(float));
    }
    free(packed), free(a), free(b), free(c[0]), free(c[1]);
}

static void test_rows_are_shared_where_they_are_more_than_the_weights(void **state) {
    (void)state;
    assert_true(cpu_matmul_shares_rows(2, 128, 128, 1024));
    assert_false(cpu_matmul_shares_rows(2, 127, 128, 1024));
    assert_false(cpu_matmul_shares_rows(2, 4096, 128, 1025)); /* beyond a core's cache */
}

/* ---- one row, with those of others ---- */

enum { SHARED_K = 2100, SHARED_N = 596, SHARED_THREADS = 5, SHARED_ROUNDS = 30 };

typedef struct SharedRow {
    CpuMatmul matmul;
    CpuMatmulBuffers buffers;
    float c[SHARED_N], expected[SHARED_N];
} SharedRow;

static void run_shared(SharedRow *row, float *c) {
    const Launch launch = {.threads = 1};
    CpuMatmulBuffers buffers = row->buffers;
    buffers.c = c;
    assert_ok(cpu_matmul_run((CpuDevice *)kernel_cpu_device(), &row->matmul, &buffers, &launch));
}

static void *run_often(void *argument) {
    SharedRow *row = argument;
    for (int i = 0; i < SHARED_ROUNDS; i++) {
        memset(row->c, 0xee, sizeof row->c);
        run_shared(row, row->c);
        assert_memory_equal(row->c, row->expected, sizeof row->c);
    }
    return NULL;
}

/* Each has its own row and what follows it; some have fewer weights of the same address. */
static SharedRow *make_shared_row(int index, CpuLevel level, const float *b) {
    SharedRow *row = calloc(1, sizeof *row);
    assert_non_null(row);
    row->matmul = matmul_fixture_make(1, SHARED_N, index == 3 ? SHARED_K - 100 : SHARED_K);
    row->matmul.b_packed = true;
    row->matmul.has_bias = index % 2;
    row->matmul.has_residual = index == 2;
    row->matmul.bias_column = 1;
    if (index == 1) row->matmul.epilogue.alpha = 0.5;
    if (index == 4) row->matmul.epilogue.activation = ACTIVATION_RELU;
    cpu_matmul_prepare(&row->matmul, level);
    row->buffers = (CpuMatmulBuffers){.a = kernel_random_floats((uint64_t)index + 10, SHARED_K),
        .b = b,
        .bias = kernel_random_floats(8, SHARED_N),
        .residual = kernel_random_floats(9, SHARED_N)};
    return row;
}

static void test_rows_that_are_read_together_have_the_bits_of_one(void **state) {
    (void)state;
    const CpuLevel level = ((CpuDevice *)kernel_cpu_device())->level;
    float *b = kernel_random_floats(3, cpu_matmul_packed_count(SHARED_K, SHARED_N));
    SharedRow *rows[SHARED_THREADS];
    pthread_t threads[SHARED_THREADS];
    for (int i = 0; i < SHARED_THREADS; i++) {
        rows[i] = make_shared_row(i, level, b);
        run_shared(rows[i], rows[i]->expected);
    }
    for (int i = 0; i < SHARED_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, rows[i]), 0);
    for (int i = 0; i < SHARED_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        free((float *)(uintptr_t)rows[i]->buffers.a);
        free((float *)(uintptr_t)rows[i]->buffers.bias);
        free((float *)(uintptr_t)rows[i]->buffers.residual);
        free(rows[i]);
    }
    free(b);
}

int test_cpu_matmul_kernel(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_that_are_read_together_have_the_bits_of_one),
        cmocka_unit_test(test_matmul_run_is_abandoned_when_asked),
        cmocka_unit_test(test_matmul_gives_a_row_the_same_bits_in_any_batch),
        cmocka_unit_test(test_threads_that_share_rows_give_the_same_bits),
        cmocka_unit_test(test_rows_are_shared_where_they_are_more_than_the_weights),
        cmocka_unit_test(test_matmul_packs_columns_that_are_not_adjacent),
    };
    return cmocka_run_group_tests_name("cpu_matmul_kernel", tests, NULL, NULL);
}
