#include "kernels/registry/device_registry.h"
#include "tests/vm/vm_fixture.h"
#include "vm/residency/residency.h"

static const char CONSTANTS[] =
    "constant @d slot 1 = float32[4, 4] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}\n"
    "constant @h slot 0 = int64[1] {3}\nconstant @i = int 4\nprimitive %mm = MatMul\n"
    "function f(1) exported {\n InvokePacked %mm r0, @d -> r1\n Ret r1\n}\n"
    "function g() exported {\n AllocADT 0, @d, @h, @i -> r0\n Ret r0\n}\n";

static void test_residency_places_constants_in_their_slots(void **state) {
    (void)state;
    const char *const devices[] = {"cpu", "sim:0"};
    for (uint32_t i = 0; i < 2; i++) {
        VmMachine machine = vm_machine(CONSTANTS, devices[i]);
        Residency *residency = machine.residency;
        const Tensor *on_device = residency->constants[SLOT_DEVICE][0];
        assert_int_equal(on_device->storage->slot, SLOT_DEVICE);
        assert_ptr_equal(on_device->storage->device, machine.device);
        assert_true(on_device->storage->sealed);
        assert_int_equal(on_device->storage->constant_index, 0);
        assert_null(residency->constants[SLOT_HOST][0]);
        assert_int_equal(residency->constants[SLOT_HOST][1]->storage->slot, SLOT_HOST);
        assert_int_equal(residency->constant_values[2].integer, 4);
        if (i == 1) assert_true(residency->bytes[SLOT_DEVICE] >= 64);
        vm_machine_deinit(&machine);
    }
}

static void test_residency_of_strings_in_slot_1_is_in_host_memory(void **state) {
    (void)state;
    OWN(Executable, executable) = vm_parse("constant @s slot 1 = string[1] {\"a\"}\n"
                                           "function f() exported {\n Ret @s\n}\n");
    OWN(Device, cpu) = NULL;
    OWN(Device, sim) = NULL;
    OWN(Residency, residency) = NULL;
    assert_ok(device_open("cpu", &cpu));
    assert_ok(device_open("sim:0", &sim));
    assert_fails_saying(UNSUPPORTED, "sim:0 cannot run this model: it has strings in slot 1",
        residency_create(executable, cpu, sim, NULL, &residency));
    assert_ok(residency_create(executable, cpu, cpu, NULL, &residency));
}

static void test_residency_wants_host_memory_in_slot_0(void **state) {
    (void)state;
    Device *sim;
    Executable *executable = vm_parse("function f() {\n Ret 1\n}\n");
    Residency *residency;
    assert_ok(device_open("sim:0", &sim));
    assert_fails(INVALID, residency_create(executable, sim, sim, NULL, &residency));
    device_close(sim);
    executable_release(executable);
}

int test_residency(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_residency_places_constants_in_their_slots),
        cmocka_unit_test(test_residency_wants_host_memory_in_slot_0),
        cmocka_unit_test(test_residency_of_strings_in_slot_1_is_in_host_memory),
    };
    return cmocka_run_group_tests_name("residency", tests, NULL, NULL);
}
