#include "kernels/cpu/bytes/cpu_bytes_winograd.h"

#include "tests/kernels/fixtures/bytes_call.h"

/* batch, groups, channels, filters, rank, input, kernel, stride, dilation, begin, end */
#define IMAGE(channels, filters, height, width, begin, end)                                        \
    {                                                                                              \
        1, 1, channels, filters, 2, {height, width}, {3, 3}, {1, 1}, {1, 1}, {begin, begin}, {     \
            end, end                                                                               \
        }                                                                                          \
    }

static const BytesCase cases[] = {
    {IMAGE(16, 16, 6, 6, 1, 1), DTYPE_UINT8, DTYPE_INT8, 100, 0, false},
    /* odd sizes and channels, parts of panels, several blocks, several chunks of channels */
    {IMAGE(17, 35, 13, 15, 1, 1), DTYPE_UINT8, DTYPE_INT8, 3, 5, false},
    {IMAGE(151, 66, 5, 4, 0, 2), DTYPE_INT8, DTYPE_UINT8, -20, 140, false},
    {IMAGE(33, 16, 3, 3, 0, 0), DTYPE_INT8, DTYPE_INT8, 127, 0, false},
    /* the largest sums */
    {IMAGE(511, 16, 4, 4, 1, 1), DTYPE_UINT8, DTYPE_INT8, 0, 0, true},
};

static void test_sums_are_those_of_the_definition(void **state) {
    (void)state;
    const bool is_here = cpu_lower_form(cpu_device(kernel_cpu_device()), true) == CPU_LOWER_INT8 &&
                         cpu_device(kernel_cpu_device())->level != CPU_LEVEL_PORTABLE;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        bytes_call_check(&cases[i], is_here ? "cpu.bytes_winograd" : "cpu.bytes_conv");
}

static bool takes(const char *text, Shape weights) {
    const CpuDevice device = {.level = CPU_LEVEL_AVX2};
    OWN(Attributes, attributes) = NULL;
    assert_ok(attributes_parse(&text, &attributes));
    assert_ok(attributes_check(attributes, operator_get(OPERATOR_FUSED_QLINEAR_CONV)));
    const CpuBytesFilters filters =
        cpu_bytes_filters_of(CPU_LOWER_INT8, attributes, &weights, DTYPE_INT8);
    return cpu_bytes_winograd_takes(&device, attributes, &filters);
}

static void test_it_is_for_steps_of_one_and_sums_that_fit(void **state) {
    (void)state;
    const Shape some = {4, {64, 64, 3, 3}};
    assert_true(takes("{}", some));
    assert_true(takes("{dilations=[1, 1], strides=[1, 1]}", some));
    assert_false(takes("{strides=[1, 2]}", some));
    assert_false(takes("{dilations=[2, 1]}", some));
    assert_false(takes("{group=2}", some));
    assert_false(takes("{}", (Shape){4, {64, 64, 3, 5}}));
    assert_false(takes("{}", (Shape){3, {64, 64, 3}}));
    assert_false(takes("{}", (Shape){4, {64, 3, 3, 3}}));
    assert_false(takes("{}", (Shape){4, {3, 64, 3, 3}}));
    assert_false(takes("{}", (Shape){4, {64, 1828, 3, 3}}));
}

int test_cpu_bytes_winograd(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_are_those_of_the_definition),
        cmocka_unit_test(test_it_is_for_steps_of_one_and_sums_that_fit),
    };
    return cmocka_run_group_tests_name("cpu_bytes_winograd", tests, NULL, NULL);
}
