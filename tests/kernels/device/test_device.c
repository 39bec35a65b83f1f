#include "kernels/device/device.h"

#include "kernels/registry/device_registry.h"
#include "tests/support/test_support.h"

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
    assert_null(host->class_->plan);
    device_close(host);
}

int test_device(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_shares_memory_only_among_host_devices),
        cmocka_unit_test(test_device_transfer_moves_bytes_between_any_two),
        cmocka_unit_test(test_device_host_holds_memory_and_runs_nothing),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
