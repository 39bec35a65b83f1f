#include "scheduler/node/memory_budget.h"

#include <pthread.h>

#include "tests/support/test_support.h"

/* However many a tenant sends at once, it holds no more than its share; others have theirs. */
static void test_memory_budget_bounds_tenants_and_all(void **state) {
    (void)state;
    OWN(MemoryBudget, budget) = NULL;
    MemoryCharge OWN_CHARGE(first) = {0};
    MemoryCharge OWN_CHARGE(second) = {0};
    MemoryCharge OWN_CHARGE(other) = {0};
    MemoryCharge OWN_CHARGE(third) = {0};
    assert_ok(memory_budget_create("tests", 100, 1, &budget));
    assert_fails_saying(
        EXHAUSTED, "51 bytes of memory for tests", memory_budget_take(budget, 1, 50, 51, &first));
    assert_ok(memory_budget_take(budget, 1, 50, 30, &first));
    assert_fails_saying(EXHAUSTED, "has 30 bytes of its share of 50",
        memory_budget_take(budget, 1, 50, 21, &second));
    assert_ok(memory_budget_take(budget, 1, 50, 20, &second));
    assert_ok(memory_budget_take(budget, 2, 50, 50, &other));
    assert_fails_saying(
        EXHAUSTED, "100 of 100; try again", memory_budget_take(budget, 3, 50, 1, &third));
    memory_charge_end(&other);
    assert_ok(memory_budget_take(budget, 3, 50, 50, &third));
    memory_charge_end(&first);
    assert_ok(memory_budget_take(budget, 1, 50, 30, &first));
}

typedef struct Waiting {
    MemoryBudget *budget;
    MemoryCharge charge;
    Error *error;
} Waiting;

static void *take(void *context) {
    Waiting *waiting = context;
    waiting->error = memory_budget_take(waiting->budget, 1, 50, 50, &waiting->charge);
    return NULL;
}

static void test_memory_budget_waits_for_what_comes_back(void **state) {
    (void)state;
    OWN(MemoryBudget, budget) = NULL;
    MemoryCharge held = {0};
    pthread_t thread;
    assert_ok(memory_budget_create("tests", 100, 60000, &budget));
    assert_ok(memory_budget_take(budget, 1, 50, 50, &held));
    Waiting waiting = {.budget = budget};
    assert_int_equal(pthread_create(&thread, NULL, take, &waiting), 0);
    memory_charge_end(&held);
    (void)pthread_join(thread, NULL);
    assert_ok(waiting.error);
    memory_charge_end(&waiting.charge);
}

int test_memory_budget(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_budget_bounds_tenants_and_all),
        cmocka_unit_test(test_memory_budget_waits_for_what_comes_back),
    };
    return cmocka_run_group_tests_name("memory_budget", tests, NULL, NULL);
}
