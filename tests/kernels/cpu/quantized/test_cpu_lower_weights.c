#include "kernels/cpu/quantized/cpu_lower_weights.h"

#include "kernels/cpu/core/cpu_layouts.h"
#include "kernels/cpu/device/cpu_pack.h"
#include "tests/kernels/fixtures/kernel_call.h"

/* Two filters of three channels and two places of the kernel. */
static void test_filters_are_turned_by_place_and_channel(void **state) {
    (void)state;
    static const int8_t bytes[] = {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6};
    static const int8_t wanted[] = {1, -1, 3, -3, 5, -5, 2, -2, 4, -4, 6, -6};
    const Shape shape = {4, {2, 3, 1, 2}};
    int8_t turned[12];
    uint16_t halves[12], turned_halves[12];
    for (int i = 0; i < 12; i++) halves[i] = (uint16_t)(bytes[i] + 100);
    cpu_lower_turn_filters(CPU_LOWER_INT8, bytes, &shape, turned);
    cpu_lower_turn_filters(CPU_LOWER_BFLOAT16, halves, &shape, turned_halves);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(turned[i], wanted[i]);
        assert_int_equal(turned_halves[i], wanted[i] + 100);
    }
}

/* A layout that is none of theirs is left to others. */
static void test_other_layouts_are_not_packed(void **state) {
    (void)state;
    const PackRequest request = {.operator_info = operator_find("FusedMatMulInt8"),
        .input_index = 1,
        .constant = {.present = true, .dtype = DTYPE_INT8, .shape = {2, {4, 16}}}};
    const CpuDevice *device = cpu_device(kernel_cpu_device());
    static const int8_t plain[64];
    uint32_t layout;
    uint64_t bytes;
    uint8_t to[256] = {0};
    bool packed;
    assert_true(cpu_lower_pack_rule(device, &request, &layout, &bytes));
    assert_true(bytes <= sizeof to);
    assert_ok(cpu_lower_pack_weights(device, &request, CPU_LAYOUT_PANELS, plain, to, &packed));
    assert_false(packed);
    assert_ok(cpu_lower_pack_weights(device, &request, layout, plain, to, &packed));
    assert_true(packed);
}

int test_cpu_lower_weights(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters_are_turned_by_place_and_channel),
        cmocka_unit_test(test_other_layouts_are_not_packed),
    };
    return cmocka_run_group_tests_name("cpu_lower_weights", tests, NULL, NULL);
}
