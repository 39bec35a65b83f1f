#include "kernels/cpu/quantized/cpu_lower_pack.h"

#include "tests/kernels/fixtures/kernel_call.h"

/* The last column and row of a depth that no group divides. */
static void test_panels_hold_flipped_bytes_and_zeros_behind_them(void **state) {
    enum { DEPTH = 5, COLUMNS = 19 };
    uint8_t plain[DEPTH * COLUMNS];
    static char packed[4096];
    (void)state;
    const CpuLowerForm form = cpu_lower_form(cpu_device(kernel_cpu_device()), true);
    for (int i = 0; i < DEPTH * COLUMNS; i++) plain[i] = (uint8_t)(i * 37);
    for (int f = 0; f < (form == CPU_LOWER_INT8 ? 1 : 2); f++)
        for (int flips = 0; flips < 2; flips++) {
            const CpuLowerForm each = f == 0 ? CPU_LOWER_INT8 : form;
            const uint8_t flip = flips ? CPU_LOWER_FLIP : 0;
            memset(packed, 0x55, sizeof packed);
            cpu_lower_pack(each, plain, flip, DEPTH, COLUMNS, 0, 2, packed);
            const int64_t group = cpu_lower_forms[each].group;
            for (int64_t c = 0; c < 2 * CPU_LOWER_PANEL; c++)
                for (int64_t k = 0; k < cpu_lower_groups(each, DEPTH) * group; k++) {
                    const bool there = c < COLUMNS && k < DEPTH;
                    assert_int_equal(cpu_lower_byte(each, packed, DEPTH, k, c),
                        there ? (int8_t)(plain[k * COLUMNS + c] ^ flip) : 0);
                }
        }
}

static void test_panels_beyond_all_memory_are_refused(void **state) {
    uint64_t bytes;
    (void)state;
    assert_fails_saying(INVALID, "the weights are too large",
        cpu_lower_packed_bytes(CPU_LOWER_INT8, INT64_MAX / 4, INT64_MAX / 4, &bytes));
}

int test_cpu_lower_pack(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_panels_hold_flipped_bytes_and_zeros_behind_them),
        cmocka_unit_test(test_panels_beyond_all_memory_are_refused),
    };
    return cmocka_run_group_tests_name("cpu_lower_pack", tests, NULL, NULL);
}
