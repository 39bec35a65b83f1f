#include "scheduler/node/compile_memory.h"

#include "scheduler/node/compile_child.h"
#include "tests/support/test_support.h"

static const uint64_t GIB = (uint64_t)1 << 30;

/* One tenant's large models leave room for another's small one, and are told to come again. */
static void test_compile_memory_keeps_room_for_other_tenants(void **state) {
    (void)state;
    OWN(MemoryBudget, budget) = NULL;
    MemoryCharge OWN_CHARGE(large) = {0};
    MemoryCharge OWN_CHARGE(more) = {0};
    MemoryCharge OWN_CHARGE(small) = {0};
    assert_ok(memory_budget_create("compiling models", 128 * GIB, 1, &budget));
    assert_ok(compile_memory_take(budget, 1, UINT64_MAX, 100 * GIB, &large));
    assert_int_equal(large.bytes, COMPILE_CHILD_MEMORY_BYTES);
    memory_charge_end(&large);
    assert_ok(compile_memory_take(budget, 1, UINT64_MAX, UINT64_MAX, &large));
    assert_int_equal(large.bytes, COMPILE_CHILD_MEMORY_BYTES);
    memory_charge_end(&large);
    memory_budget_release(budget);
    assert_ok(memory_budget_create("compiling models", 16 * GIB, 1, &budget));
    assert_ok(compile_memory_take(budget, 1, UINT64_MAX, GIB, &large));
    assert_int_equal(large.bytes, 12 * GIB);
    assert_fails_saying(EXHAUSTED, "memory for compiling models is in use",
        compile_memory_take(budget, 1, UINT64_MAX, 1000, &more));
    assert_ok(compile_memory_take(budget, 2, UINT64_MAX, 1000, &small));
    assert_in_range(small.bytes, GIB, 4 * GIB);
    memory_charge_end(&large);
    assert_ok(compile_memory_take(budget, 1, UINT64_MAX, 1000, &more));
}

/* What a quota allows for one process is all that its tenant's compilations have. */
static void test_compile_memory_of_a_tenant_with_a_quota(void **state) {
    (void)state;
    const uint64_t mib = 1 << 20;
    OWN(MemoryBudget, budget) = NULL;
    MemoryCharge OWN_CHARGE(one) = {0};
    MemoryCharge OWN_CHARGE(two) = {0};
    assert_ok(memory_budget_create("compiling models", 16 * GIB, 1, &budget));
    assert_ok(compile_memory_take(budget, 1, 64 * mib, 1000, &one));
    assert_fails(EXHAUSTED, compile_memory_take(budget, 1, 64 * mib, 1000, &two));
    assert_ok(compile_memory_take(budget, 2, 64 * mib, 1000, &two));
    assert_int_equal(compile_memory_data_bytes(UINT64_MAX, 1000), 0);
    const uint64_t least = compile_memory_data_bytes(0, 0);
    assert_int_equal(least, 48 * mib);
    assert_int_equal(compile_memory_data_bytes(64 * mib, 10 * mib), least + 104 * mib);
    assert_int_equal(compile_memory_data_bytes(UINT64_MAX - 1, 1), COMPILE_CHILD_MEMORY_BYTES);
    assert_int_equal(compile_memory_data_bytes(1, UINT64_MAX), COMPILE_CHILD_MEMORY_BYTES);
}

static void test_compile_memory_follows_the_machine(void **state) {
    (void)state;
    OWN(MemoryBudget, budget) = NULL;
    assert_ok(compile_memory_create(&budget));
    assert_true(memory_budget_bytes(budget) >= 4 * GIB);
}

int test_compile_memory(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compile_memory_keeps_room_for_other_tenants),
        cmocka_unit_test(test_compile_memory_of_a_tenant_with_a_quota),
        cmocka_unit_test(test_compile_memory_follows_the_machine),
    };
    return cmocka_run_group_tests_name("compile_memory", tests, NULL, NULL);
}
