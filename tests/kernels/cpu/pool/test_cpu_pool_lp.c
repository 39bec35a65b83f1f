#include "kernels/cpu/pool/cpu_pool_lp.h"

#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

static void test_powers_and_roots_are_each_others_inverse(void **state) {
    static const int64_t norms[] = {1, 2, 3, 7};
    const float narrow[4] = {-3, 0, 0.5f, 2};
    const double wide[4] = {-3, 0, 0.5, 2};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        float f32[4];
        double f64[4];
        CpuDevice *device = cpu_device(everywhere_cpu());
        assert_ok(cpu_pool_lp_powers(device, 1, norms[i], 4, 4, narrow, f32));
        assert_ok(cpu_pool_lp_powers(device, 1, norms[i], 8, 4, wide, f64));
        assert_true(fabs(f64[0] - pow(3, (double)norms[i])) < 1e-9);
        cpu_pool_lp_roots(norms[i], 4, 4, f32);
        cpu_pool_lp_roots(norms[i], 8, 4, f64);
        for (int k = 0; k < 4; k++) {
            assert_true(fabs((double)f32[k] - fabs(wide[k])) < 1e-6);
            assert_true(fabs(f64[k] - fabs(wide[k])) < 1e-12);
        }
    }
}

static void test_a_plane_becomes_its_norm(void **state) {
    static const double x[6] = {3, -4, 0, 1, -2, 2};
    (void)state;
    DeviceCall call = {.operator_name = "GlobalLpPool", .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_FLOAT16, x, 3, 1, 2, 3);
    everywhere_check(&call, (double[]){5, 3}, 0);
    call.attributes = "{p=1}";
    everywhere_check(&call, (double[]){7, 5}, 0);
    everywhere_release(&call);
}

int test_cpu_pool_lp(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_powers_and_roots_are_each_others_inverse),
        cmocka_unit_test(test_a_plane_becomes_its_norm),
    };
    return cmocka_run_group_tests_name("cpu_pool_lp", tests, NULL, NULL);
}
