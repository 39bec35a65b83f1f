#include "base/allocator.h"
#include "kernels/device.h"

#include "kernels/plan.h"
#include "tests/kernels/device_refusal.h"
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

static void test_device_shares_memory_only_among_host_devices(void **state) {
    (void)state;
    OWN(Device, cpu) = NULL;
    OWN(Device, other) = NULL;
    OWN(Device, sim) = NULL;
    OWN(Device, same_sim) = NULL;
    assert_ok(device_open("cpu", &cpu));
    assert_ok(device_open_portable(&other));
    assert_ok(device_open("sim:0", &sim));
    assert_ok(device_open("sim:0", &same_sim));
    assert_true(device_shares_memory(cpu, other));
    assert_true(device_shares_memory(cpu, device_host()));
    assert_true(device_shares_memory(sim, sim));
    assert_false(device_shares_memory(cpu, sim));
    assert_false(device_shares_memory(sim, same_sim));
}

/* More than one buffer's worth, between all kinds of pairs. */
static void test_device_transfer_moves_bytes_between_any_two(void **state) {
    (void)state;
    enum { SIZE = 2500000, COUNT = 3 };
    static const char *const specs[COUNT] = {"cpu", "sim:0", "sim:1"};
    static uint8_t sent[SIZE], received[SIZE];
    Device *devices[COUNT];
    uint64_t addresses[COUNT], seed = 3;
    for (size_t i = 0; i < SIZE; i++) sent[i] = (uint8_t)test_random(&seed);
    for (int i = 0; i < COUNT; i++) {
        assert_ok(device_open(specs[i], &devices[i]));
        assert_ok(devices[i]->class_->alloc(devices[i], NULL, SIZE, &addresses[i]));
    }
    for (int to = 0; to < COUNT; to++)
        for (int from = 0; from < COUNT; from++) {
            const DeviceClass *source = devices[from]->class_, *target = devices[to]->class_;
            memset(received, 0, SIZE);
            if (to != from)
                assert_ok(target->copy_from_host(devices[to], NULL, addresses[to], received, SIZE));
            assert_ok(source->copy_from_host(devices[from], NULL, addresses[from], sent, SIZE));
            assert_ok(device_transfer((DevicePlace){devices[to], NULL, addresses[to] + 1},
                (DevicePlace){devices[from], NULL, addresses[from] + 1}, SIZE - 1));
            assert_ok(
                target->copy_to_host(devices[to], NULL, received, addresses[to] + 1, SIZE - 1));
            assert_memory_equal(received, sent + 1, SIZE - 1);
        }
    for (int i = 0; i < COUNT; i++) {
        devices[i]->class_->free(devices[i], NULL, addresses[i], SIZE);
        device_close(devices[i]);
    }
}

static void test_device_host_holds_memory_and_runs_nothing(void **state) {
    (void)state;
    Device *host = device_host();
    uint64_t address;
    assert_ok(host->class_->alloc(host, NULL, 100, &address));
    assert_int_equal(((uint8_t *)(uintptr_t)address)[99], 0);
    host->class_->free(host, NULL, address, 100);
    PlanRequest request = {.operator_info = operator_find("Add")};
    Plan *plan = NULL;
    assert_fails(UNSUPPORTED, host->class_->plan(host, &request, &plan));
    device_close(host);
}

int test_device(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_open_reads_specs),
        cmocka_unit_test(test_device_open_refuses_with_a_reason),
        cmocka_unit_test(test_device_spec_apart_puts_plugins_into_a_worker),
        cmocka_unit_test(test_device_classes_begin_with_cpu_and_speak_this_abi),
        cmocka_unit_test(test_device_count_is_none_where_a_kind_is_not_here),
        cmocka_unit_test(test_device_shares_memory_only_among_host_devices),
        cmocka_unit_test(test_device_transfer_moves_bytes_between_any_two),
        cmocka_unit_test(test_device_host_holds_memory_and_runs_nothing),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
