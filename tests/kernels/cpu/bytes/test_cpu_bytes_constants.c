#include "kernels/cpu/bytes/cpu_bytes_constants.h"

#include "kernels/cpu/core/cpu_layouts.h"
#include "tests/kernels/fixtures/kernel_call.h"

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

int test_cpu_bytes_constants(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_filters_are_packed),
    };
    return cmocka_run_group_tests_name("cpu_bytes_constants", tests, NULL, NULL);
}
