#include "kernels/sim/sim_memory.h"

#include "tests/support/test_support.h"

static SimMemory *make(uint64_t limit) {
    SimMemory *memory = NULL;
    assert_ok(sim_memory_create(device_host(), 2, limit, &memory));
    return memory;
}

/* No pointer of an x86-64 process looks like that. */
static void test_sim_memory_handles_are_no_pointers(void **state) {
    (void)state;
    OWN(SimMemory, memory) = make(1 << 20);
    uint64_t address;
    assert_ok(sim_memory_alloc(memory, 100, &address));
    assert_int_equal(address >> 56, 0x51);
    assert_int_equal(address % DEVICE_ALIGNMENT, 0);
}

static void test_sim_memory_resolves_inside_one_allocation_only(void **state) {
    (void)state;
    OWN(SimMemory, memory) = make(1 << 20);
    uint64_t a, b, host_a, host;
    assert_ok(sim_memory_alloc(memory, 100, &a));
    assert_ok(sim_memory_alloc(memory, 200, &b));
    assert_ok(sim_memory_resolve(memory, a, 100, &host_a));
    assert_ok(sim_memory_resolve(memory, a + 99, 1, &host));
    assert_true(host == host_a + 99);
    assert_fails_saying(INTERNAL, "leave", sim_memory_resolve(memory, a, 101, &host));
    assert_fails(INTERNAL, sim_memory_resolve(memory, a + 100, 1, &host));
    assert_fails(INTERNAL, sim_memory_resolve(memory, a + 50, UINT64_MAX, &host));
    assert_fails(INTERNAL, sim_memory_resolve(memory, a - 1, 1, &host));
    assert_fails(INTERNAL, sim_memory_resolve(memory, b - 1, 2, &host));
    assert_fails(INTERNAL, sim_memory_resolve(memory, 0, 1, &host));
    assert_fails(INTERNAL, sim_memory_resolve(memory, UINT64_MAX, 1, &host));
    assert_fails(INTERNAL, sim_memory_resolve(memory, host_a, 1, &host));
}

static void test_sim_memory_finds_stale_handles(void **state) {
    (void)state;
    OWN(SimMemory, memory) = make(1 << 20);
    uint64_t a, b, c, host;
    assert_ok(sim_memory_alloc(memory, 100, &a));
    assert_ok(sim_memory_alloc(memory, 100, &b));
    sim_memory_free(memory, a, 100);
    assert_ok(sim_memory_alloc(memory, 100, &c));
    assert_true(c != a);
    assert_fails(INTERNAL, sim_memory_resolve(memory, a, 1, &host));
    assert_ok(sim_memory_resolve(memory, b, 100, &host));
    assert_ok(sim_memory_resolve(memory, c, 100, &host));
    sim_memory_free(memory, c, 100);
    sim_memory_free(memory, b, 100);
    assert_int_equal(sim_memory_info(memory).free_bytes, 1 << 20);
}

static void test_sim_memory_has_a_limit(void **state) {
    (void)state;
    OWN(SimMemory, memory) = make(1000);
    uint64_t a, b = 7;
    assert_ok(sim_memory_alloc(memory, 600, &a));
    assert_fails_saying(EXHAUSTED, "600 are in use", sim_memory_alloc(memory, 401, &b));
    assert_fails(EXHAUSTED, sim_memory_alloc(memory, UINT64_MAX, &b));
    assert_int_equal(b, 7);
    assert_ok(sim_memory_alloc(memory, 400, &b));
    assert_int_equal(sim_memory_info(memory).free_bytes, 0);
}

int test_sim_memory(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_memory_handles_are_no_pointers),
        cmocka_unit_test(test_sim_memory_resolves_inside_one_allocation_only),
        cmocka_unit_test(test_sim_memory_finds_stale_handles),
        cmocka_unit_test(test_sim_memory_has_a_limit),
    };
    return cmocka_run_group_tests_name("sim_memory", tests, NULL, NULL);
}
