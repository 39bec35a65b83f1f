#include "kernels/cpu/bytes/cpu_bytes_filters.h"

#include "tests/kernels/fixtures/kernel_call.h"

/* Two filters of three channels and two places of the kernel, in pairs: a row of the kernel is one
 * piece of six elements; a tap that lies apart is a piece of three and a zero. */
static void test_pieces_end_with_zeros(void **state) {
    (void)state;
    static const int8_t bytes[] = {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6};
    static const int8_t rows[] = {1, 3, 5, 2, 4, 6}, taps[] = {1, 3, 5, 0, 2, 4, 6, 0};
    const Shape shape = {4, {2, 3, 1, 2}};
    OWN(Attributes, attributes) = NULL;
    const char *text = "{dilations=[1, 1], group=1}";
    assert_ok(attributes_parse(&text, &attributes));
    CpuBytesFilters filters = cpu_bytes_filters_of(CPU_LOWER_INT8, attributes, &shape, DTYPE_INT8);
    int8_t packed[8 * CPU_LOWER_PANEL];
    assert_true(filters.by_rows);
    assert_int_equal(cpu_bytes_panel_bytes(&filters), 6 * CPU_LOWER_PANEL);
    cpu_bytes_pack(&filters, bytes, 0, 1, packed);
    for (int k = 0; k < 6; k++) {
        assert_int_equal(packed[k / 2 * 2 * CPU_LOWER_PANEL + k % 2], rows[k]);
        assert_int_equal(packed[k / 2 * 2 * CPU_LOWER_PANEL + 2 + k % 2], -rows[k]);
        assert_int_equal(packed[k / 2 * 2 * CPU_LOWER_PANEL + 4 + k % 2], 0);
    }
    filters.by_rows = false;
    assert_int_equal(cpu_bytes_panel_bytes(&filters), 8 * CPU_LOWER_PANEL);
    cpu_bytes_pack(&filters, bytes, 0, 1, packed);
    for (int k = 0; k < 8; k++)
        assert_int_equal(packed[k / 2 * 2 * CPU_LOWER_PANEL + k % 2], taps[k]);
}

int test_cpu_bytes_filters(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_end_with_zeros),
    };
    return cmocka_run_group_tests_name("cpu_bytes_filters", tests, NULL, NULL);
}
