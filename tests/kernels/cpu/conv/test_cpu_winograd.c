#include "kernels/cpu/conv/cpu_winograd.h"

#include <stdlib.h>

#include "tests/kernels/fixtures/image_call.h"

/* batch, groups, channels, filters, rank, input, kernel, stride, dilation, begin, end */
static const ConvCase cases[] = {
    {1, 1, 16, 16, 2, {14, 13}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {2, 1, 33, 70, 2, {5, 7}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {1, 1, 64, 48, 2, {30, 29}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {1, 1, 130, 20, 2, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {2, 0}, {3, 1}},
    /* parts of panels, blocks of tiles that differ */
    {1, 1, 20, 33, 2, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {0, 1, 16, 16, 2, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    /* volumes: blocks of one slice and of several, padding alone, slices apart */
    {1, 1, 16, 33, 3, {4, 7, 6}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {2, 1, 17, 20, 3, {1, 22, 23}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {1, 1, 40, 70, 3, {3, 9, 8}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {1, 1, 16, 16, 3, {2, 24, 24}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {5, 1, 1}, {5, 1, 1}},
};

static void test_winograd_agrees_with_the_definition(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        image_call_check(&cases[i], "cpu.winograd", 1e-4);
}

static bool takes(const char *text, Shape weights) {
    OWN(Attributes, attributes) = NULL;
    assert_ok(attributes_parse(&text, &attributes));
    assert_ok(attributes_check(attributes, operator_get(OPERATOR_FUSED_CONV)));
    const CpuRules rules = {.values = {
                                [CPU_RULE_WINOGRAD_CHANNELS_MIN] = 16,
                                [CPU_RULE_WINOGRAD_PIXELS_MIN] = 100,
                                [CPU_RULE_WINOGRAD_CHANNELS_END] = 512,
                            }};
    return cpu_winograd_takes(&rules, attributes, &weights);
}

static void test_winograd_is_for_steps_of_one_over_images_that_pay_for_it(void **state) {
    (void)state;
    const Shape some = {4, {64, 64, 3, 3}}, many = {4, {512, 512, 3, 3}};
    assert_true(takes("{channels_last=1}", some));
    assert_true(takes("{channels_last=1, dilations=[1, 1], strides=[1, 1]}", some));
    assert_false(takes("{channels_last=1, strides=[1, 2]}", some));
    assert_false(takes("{channels_last=1, dilations=[2, 1]}", some));
    assert_false(takes("{channels_last=1, group=2}", some));
    assert_false(takes("{channels_last=1}", (Shape){4, {64, 64, 3, 5}}));
    assert_false(takes("{channels_last=1}", (Shape){4, {64, 3, 3, 3}}));
    assert_false(takes("{channels_last=1}", (Shape){4, {3, 64, 3, 3}}));
    assert_true(takes("{channels_last=1}", (Shape){5, {64, 64, 2, 3, 3}}));
    assert_false(takes("{channels_last=1}", (Shape){5, {64, 64, 3, 3, 1}}));
    assert_false(takes("{channels_last=1, dilations=[2, 1, 1]}", (Shape){5, {64, 64, 2, 3, 3}}));
    assert_false(takes("{channels_last=1}", many));
    assert_true(takes("{channels_last=1, pixels=196}", many));
    assert_false(takes("{channels_last=1, pixels=49}", some));
}

int test_cpu_winograd(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_winograd_agrees_with_the_definition),
        cmocka_unit_test(test_winograd_is_for_steps_of_one_over_images_that_pay_for_it),
    };
    return cmocka_run_group_tests_name("cpu_winograd", tests, NULL, NULL);
}
