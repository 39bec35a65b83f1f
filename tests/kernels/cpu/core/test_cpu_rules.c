#include "kernels/cpu/core/cpu_rules.h"

#include "base/digest.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/device/cpu_device.h"
#include "kernels/cpu/device/cpu_pack.h"
#include "kernels/registry/device_registry.h"
#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/infer_fixture.h"

typedef struct Version {
    int version;
    uint64_t digest; /* of names and values: never changed, a new table adds a row */
} Version;

static const Version versions[] = {{1, 0x2a1d609959f2f240u}, {2, 0xf7d79725776527b3u},
    {3, 0x1894ec9ddc3397du}, {4, 0xac18b63fdcec2f05u}, {5, 0x709668ca8eb11ac6u},
    {6, 0xa2917b6b09563b90u}};

static uint64_t table_digest(void) {
    TextBuilder OWN_TEXT(text) = {0};
    for (CpuRule rule = 0; rule < CPU_RULE_COUNT; rule++) {
        const CpuRuleInfo *info = cpu_rule_info(rule);
        text_append(&text, info->name);
        for (int level = 0; level < CPU_LEVEL_COUNT; level++)
            text_appendf(&text, " %lld", (long long)info->values[level]);
        text_append(&text, "\n");
    }
    assert_false(text.failed);
    return digest_xxh3(text.data, text.size);
}

/* Whoever changes a value raises CPU_RULES in cpu_rules.def and adds that version here. */
static void test_cpu_rules_of_a_version_never_change(void **state) {
    (void)state;
    const size_t count = sizeof versions / sizeof versions[0];
    for (size_t i = 0; i < count; i++) assert_int_equal(versions[i].version, i + 1);
    assert_int_equal(CPU_RULES_VERSION, versions[count - 1].version);
    if (table_digest() != versions[count - 1].digest)
        fail_msg("this table's digest is 0x%llx", (unsigned long long)table_digest());
}

static void test_cpu_rules_are_ordered_where_they_are_steps(void **state) {
    (void)state;
    for (uint32_t level = 0; level < CPU_LEVEL_COUNT; level++) {
        const CpuRules rules = cpu_rules_of(level);
        assert_false(rules.forced);
        for (CpuRule rule = 0; rule < CPU_RULE_COUNT; rule++) {
            assert_true(cpu_rule(&rules, rule) > 0);
            assert_int_equal(cpu_rule(&rules, rule), cpu_rule_info(rule)->values[level]);
        }
        assert_true(cpu_rule(&rules, CPU_RULE_DNNL_BANDS_TWO) <=
                    cpu_rule(&rules, CPU_RULE_DNNL_BANDS_FOUR));
        assert_true(cpu_rule(&rules, CPU_RULE_DNNL_CONV_PIXELS_28) <=
                    cpu_rule(&rules, CPU_RULE_DNNL_CONV_PIXELS_14));
        assert_true(cpu_rule(&rules, CPU_RULE_DNNL_CONV_PIXELS_14) <=
                    cpu_rule(&rules, CPU_RULE_DNNL_CONV_PIXELS_7));
    }
}

static const char *kernel_of(Device *device, const char *name, const char *attributes,
    const char *inputs, TextBuilder *out) {
    InferFixture fixture;
    OWN(Plan, plan) = NULL;
    infer_fixture_init(&fixture, name, attributes, inputs, 1);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(device->class_->plan(device, &fixture.request, &plan));
    infer_fixture_deinit(&fixture);
    text_appendf(out, "%s;", plan->kernel_name);
    return text_builder_get(out);
}

static const char *image_kernel_of(Device *device, TextBuilder *out) {
    return kernel_of(device, "FusedConv", "{channels_last=1, pads=[1, 1, 1, 1], pixels=400}",
        "float32[1,20,20,32] float32[32,32,3,3]", out);
}

static void class_of(Device *device, TextBuilder *out) {
    device->class_->determinism_class(device, out);
}

static void test_cpu_rules_that_are_forced_serve_that_device_alone(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(Device, other) = NULL;
    TextBuilder OWN_TEXT(before) = {0};
    TextBuilder OWN_TEXT(after) = {0};
    TextBuilder OWN_TEXT(others) = {0};
    TextBuilder OWN_TEXT(kernels) = {0};
    assert_ok(device_open("cpu", &device));
    assert_ok(device_open("cpu", &other));
    assert_int_equal(cpu_device_get_level(device), cpu_device(device)->level);
    class_of(device, &before);
    image_kernel_of(device, &kernels);
    cpu_device_force_rule(device, CPU_RULE_WINOGRAD_PIXELS_MIN, INT64_MAX);
    image_kernel_of(device, &kernels);
    image_kernel_of(other, &kernels);
    assert_string_equal(text_builder_get(&kernels), "cpu.winograd;cpu.conv_last;cpu.winograd;");
    class_of(device, &after);
    class_of(other, &others);
    assert_string_equal(text_builder_get(&before), text_builder_get(&others));
    assert_string_not_equal(text_builder_get(&before), text_builder_get(&after));
}

/* What constants are folded with. */
static void test_cpu_rules_do_not_reach_the_portable_device(void **state) {
    (void)state;
    static const int64_t extremes[] = {1, INT64_MAX};
    TextBuilder OWN_TEXT(kernels) = {0};
    for (int i = 0; i < 2; i++) {
        OWN(Device, device) = NULL;
        TextBuilder OWN_TEXT(name) = {0};
        assert_ok(device_open_portable(&device));
        for (CpuRule rule = 0; rule < CPU_RULE_COUNT; rule++)
            cpu_device_force_rule(device, rule, extremes[i]);
        image_kernel_of(device, &kernels);
        kernel_of(device, "MatMul", NULL, "float32[64,64] float32[64,64]", &kernels);
        class_of(device, &name);
        assert_null(strstr(text_builder_get(&name), "rules"));
    }
    assert_string_equal(text_builder_get(&kernels),
        "cpu.conv_portable;cpu.matmul_portable;cpu.conv_portable;cpu.matmul_portable;");
}

int test_cpu_rules(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_rules_of_a_version_never_change),
        cmocka_unit_test(test_cpu_rules_are_ordered_where_they_are_steps),
        cmocka_unit_test(test_cpu_rules_that_are_forced_serve_that_device_alone),
        cmocka_unit_test(test_cpu_rules_do_not_reach_the_portable_device),
    };
    return cmocka_run_group_tests_name("cpu_rules", tests, NULL, NULL);
}
