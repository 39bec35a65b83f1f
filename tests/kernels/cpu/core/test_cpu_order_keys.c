#include "kernels/cpu/core/cpu_order_keys.h"

#include <math.h>

#include "kernels/cpu/core/cpu_order.h"
#include "tests/kernels/fixtures/kernel_call.h"

enum { COUNT = 21 };

static int order_of(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

/* Every pair compares as with the keys that all number types share, and the other way around where
 * the order is turned. */
static void test_short_keys_compare_as_long_ones(void **state) {
    const float x[COUNT] = {0, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, -NAN, 0x1p-149f, -0x1p-149f,
        0x1p127f, -0x1p127f, 3, 3, 1 + 0x1p-23f, 0.5f, -0.5f, 2, -2, 0x1p-126f, 0};
    uint64_t wide[COUNT];
    (void)state;
    cpu_order_keys(DTYPE_FLOAT32, x, 1, COUNT, wide);
    for (int level = 0; level <= (int)((CpuDevice *)kernel_cpu_device())->level; level++)
        for (int turned = 0; turned < 2; turned++) {
            uint32_t keys[COUNT], most = 0;
            cpu_order_keys_for((CpuLevel)level)(x, COUNT, turned ? UINT32_MAX : 0, keys, &most);
            for (int i = 0; i < COUNT; i++) {
                assert_true(keys[i] <= most);
                for (int j = 0; j < COUNT; j++)
                    assert_int_equal(order_of(keys[i], keys[j]),
                        turned ? order_of(wide[j], wide[i]) : order_of(wide[i], wide[j]));
            }
            assert_int_equal(most, keys[turned ? 5 : 6]);
        }
}

int test_cpu_order_keys(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_keys_compare_as_long_ones),
    };
    return cmocka_run_group_tests_name("cpu_order_keys", tests, NULL, NULL);
}
