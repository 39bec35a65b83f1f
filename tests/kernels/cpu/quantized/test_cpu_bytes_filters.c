#include "kernels/cpu/quantized/cpu_bytes_filters.h"

#include "kernels/cpu/core/cpu_layouts.h"
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

/* Constants that no such convolution may have, which an executable may hold, and other layouts. */
static void test_only_filters_are_packed(void **state) {
    (void)state;
    OWN(Attributes, attributes) = NULL;
    const char *text = "{dilations=[1, 1], group=3}";
    assert_ok(attributes_parse(&text, &attributes));
    PackRequest request = {.operator_info = operator_find("QLinearConv"),
        .attributes = attributes,
        .input_index = 3,
        .constant = {.present = true, .dtype = DTYPE_INT8, .shape = {4, {4, 1, 1, 1}}}};
    const CpuDevice *device = cpu_device(kernel_cpu_device());
    static const int8_t plain[64];
    uint32_t layout;
    uint64_t bytes;
    char to[4096];
    assert_false(cpu_bytes_pack_rule(device, &request, &layout, &bytes));
    request.constant.shape.dims[0] = 6;
    assert_true(cpu_bytes_pack_rule(device, &request, &layout, &bytes));
    assert_true(bytes <= sizeof to);
    assert_false(cpu_bytes_pack_weights(device, &request, CPU_LAYOUT_PANELS, plain, to));
    assert_true(cpu_bytes_pack_weights(device, &request, layout, plain, to));
    request.input_index = 0;
    assert_false(cpu_bytes_pack_rule(device, &request, &layout, &bytes));
}

int test_cpu_bytes_filters(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_end_with_zeros),
        cmocka_unit_test(test_only_filters_are_packed),
    };
    return cmocka_run_group_tests_name("cpu_bytes_filters", tests, NULL, NULL);
}
