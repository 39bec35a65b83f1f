#include <stdlib.h>

#include "kernels/cpu/matmul/cpu_matmul_kernel.h"
#include "tests/kernels/fixtures/kernel_call.h"
#include "tests/kernels/fixtures/matmul_fixture.h"

/* A small product has the bits of a whole run at every level, for each width of a last panel. */
static void test_matmul_small_has_the_bits_of_a_run(void **state) {
    (void)state;
    enum { ROWS = 8, COLUMNS = 132, DEPTHS = 3 };
    static const int64_t depths[DEPTHS] = {1, 24, 300}, rows[] = {1, 2, 3, ROWS};
    CpuDevice *device = (CpuDevice *)kernel_cpu_device();
    const Launch launch = {.threads = 1};
    float *a = kernel_random_floats(5, ROWS * 300);
    float *b = kernel_random_floats(6, cpu_matmul_packed_count(300, COLUMNS));
    float all[ROWS * COLUMNS], small[ROWS * COLUMNS];
    for (CpuLevel level = CPU_LEVEL_PORTABLE; level <= device->level; level++)
        for (int64_t columns = 1; columns <= COLUMNS; columns++)
            for (int i = 0; i < DEPTHS * 4; i++) {
                CpuMatmul matmul =
                    matmul_fixture_make(rows[i / DEPTHS], columns, depths[i % DEPTHS]);
                matmul.b_packed = true;
                cpu_matmul_prepare(&matmul, level);
                const size_t bytes = (size_t)(matmul.rows * columns) * sizeof(float);
                CpuMatmulBuffers buffers = {.a = a, .b = b, .c = all};
                memset(small, 0xee, bytes);
                assert_ok(cpu_matmul_run(device, &matmul, &buffers, &launch));
                buffers.c = small;
                cpu_matmul_run_small(&matmul, &buffers);
                assert_memory_equal(small, all, bytes);
            }
    free(a);
    free(b);
}

int test_cpu_matmul_small(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul_small_has_the_bits_of_a_run),
    };
    return cmocka_run_group_tests_name("cpu_matmul_small", tests, NULL, NULL);
}
