#include "kernels/registry/device_registry.h"

#include "base/allocator.h"
#include "tests/kernels/fixtures/device_refusal.h"
#include "tests/support/test_support.h"

static void test_device_open_reads_specs(void **state) {
    (void)state;
    static const struct {
        const char *spec, *name;
    } rows[] = {
        {"cpu", "cpu"},
        {"cpu:threads=2", "cpu"},
        {"cpu:0", "cpu"},
        {"cpu:0,threads=1", "cpu"},
        {"sim", "sim:0"},
        {"sim:0", "sim:0"},
        {"sim:7", "sim:7"},
        {"sim:1,memory=64MiB", "sim:1"},
        {"sim:memory=1MiB", "sim:0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        OWN(Device, device) = NULL;
        assert_ok(device_open(rows[i].spec, &device));
        assert_string_equal(device->name, rows[i].name);
    }
}

static void test_device_open_refuses_with_a_reason(void **state) {
    (void)state;
    static const DeviceRefusal rows[] = {
        {ERROR_USAGE, "", "is not a device"},
        {ERROR_USAGE, ":0", "is not a device"},
        {ERROR_UNSUPPORTED, "tpu:0", "there are: cpu, sim, cuda"},
        {ERROR_UNSUPPORTED, "CPU", "no device kind \"CPU\""},
        {ERROR_USAGE, "cpu:1", "one cpu device"},
        {ERROR_USAGE, "sim:64", "above 63"},
        {ERROR_USAGE, "sim:99999999999999999999", "above 63"},
        {ERROR_USAGE, "sim:x", "is not name=value"},
        {ERROR_USAGE, "sim:-1", "is not name=value"},
        {ERROR_USAGE, "sim:0,memory", "is not name=value"},
        {ERROR_USAGE, "sim:0,memory=big", "is not a size"},
        {ERROR_USAGE, "sim:0,colour=red", "no option \"colour\""},
        {ERROR_USAGE, "sim:0,lacks=Add+add", "no operator \"add\""},
        {ERROR_USAGE, "cpu:threads=0", "from 1 to 64"},
        {ERROR_USAGE, "cpu:memory=1MiB", "no option \"memory\""},
        {ERROR_USAGE, "averyveryverylongkind:0", "is not a device"},
    };
    device_refusals_check(rows, sizeof rows / sizeof rows[0]);
}

/* A driver that takes its process along must not take a daemon. */
static void test_device_spec_apart_puts_plugins_into_a_worker(void **state) {
    (void)state;
    static const char *const rows[][2] = {{"cpu:threads=2", "cpu:threads=2"},
        {"sim:0,memory=1MiB", "sim:0,memory=1MiB"}, {"cuda", "cuda,worker=process"},
        {"cuda:1,memory=1GiB", "cuda:1,memory=1GiB,worker=process"},
        {"cuda:0,worker=none", "cuda:0,worker=none"}, {"cudax:0", "cudax:0"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *spec;
        assert_ok(device_spec_apart(rows[i][0], &spec));
        assert_string_equal(spec, rows[i][1]);
        memory_free(spec);
    }
}

static void test_device_classes_begin_with_cpu_and_speak_this_abi(void **state) {
    (void)state;
    const DeviceClass *const *classes = device_classes();
    assert_string_equal(classes[0]->kind, "cpu");
    for (; *classes; classes++) assert_int_equal((*classes)->abi_version, DEVICE_ABI_VERSION);
}

static void test_device_count_is_none_where_a_kind_is_not_here(void **state) {
    (void)state;
    assert_int_equal(device_count("cpu"), 1);
    assert_int_equal(device_count("sim"), 1);
    assert_int_equal(device_count("tpu"), 0);
    assert_string_equal(device_kinds()[0], "cpu");
}

int test_device_registry(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_open_reads_specs),
        cmocka_unit_test(test_device_open_refuses_with_a_reason),
        cmocka_unit_test(test_device_spec_apart_puts_plugins_into_a_worker),
        cmocka_unit_test(test_device_classes_begin_with_cpu_and_speak_this_abi),
        cmocka_unit_test(test_device_count_is_none_where_a_kind_is_not_here),
    };
    return cmocka_run_group_tests_name("device_registry", tests, NULL, NULL);
}
