#include "scheduler/intake_budget.h"

#include <pthread.h>

#include "store/tenants.h"
#include "tests/support/test_support.h"

enum { MIB = 1 << 20 };

static void test_intake_budget_shares_follow_quotas(void **state) {
    (void)state;
    OWN(IntakeBudget, budget) = NULL;
    assert_ok(intake_budget_create((uint64_t)256 * MIB, 1, &budget));
    assert_int_equal(intake_budget_share(budget, QUOTA_UNLIMITED), 128 * MIB);
    assert_int_equal(intake_budget_share(budget, 100 * MIB), 100 * MIB);
    assert_int_equal(intake_budget_share(budget, 10), 32 * MIB);
    assert_int_equal(intake_budget_share(budget, INT64_MAX), 128 * MIB);
}

/* However many a tenant sends at once, it holds no more than its share; others have theirs. */
static void test_intake_budget_bounds_tenants_and_all(void **state) {
    (void)state;
    OWN(IntakeBudget, budget) = NULL;
    IntakeCharge OWN_CHARGE(first) = {0};
    IntakeCharge OWN_CHARGE(second) = {0};
    IntakeCharge OWN_CHARGE(other) = {0};
    IntakeCharge OWN_CHARGE(third) = {0};
    assert_ok(intake_budget_create(100, 1, &budget));
    assert_fails_saying(
        EXHAUSTED, "51 bytes of memory", intake_budget_take(budget, 1, 50, 51, &first));
    assert_ok(intake_budget_take(budget, 1, 50, 30, &first));
    assert_fails_saying(
        EXHAUSTED, "30 bytes of this tenant", intake_budget_take(budget, 1, 50, 21, &second));
    assert_ok(intake_budget_take(budget, 1, 50, 20, &second));
    assert_ok(intake_budget_take(budget, 2, 50, 50, &other));
    assert_fails_saying(
        EXHAUSTED, "100 of 100 of all", intake_budget_take(budget, 3, 50, 1, &third));
    intake_charge_end(&other);
    assert_ok(intake_budget_take(budget, 3, 50, 50, &third));
    intake_charge_end(&first);
    assert_ok(intake_budget_take(budget, 1, 50, 30, &first));
}

typedef struct Waiting {
    IntakeBudget *budget;
    IntakeCharge charge;
    Error *error;
} Waiting;

static void *take(void *context) {
    Waiting *waiting = context;
    waiting->error = intake_budget_take(waiting->budget, 1, 50, 50, &waiting->charge);
    return NULL;
}

static void test_intake_budget_waits_for_what_comes_back(void **state) {
    (void)state;
    OWN(IntakeBudget, budget) = NULL;
    IntakeCharge held = {0};
    pthread_t thread;
    assert_ok(intake_budget_create(100, 60000, &budget));
    assert_ok(intake_budget_take(budget, 1, 50, 50, &held));
    Waiting waiting = {.budget = budget};
    assert_int_equal(pthread_create(&thread, NULL, take, &waiting), 0);
    intake_charge_end(&held);
    (void)pthread_join(thread, NULL);
    assert_ok(waiting.error);
    intake_charge_end(&waiting.charge);
}

int test_intake_budget(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intake_budget_shares_follow_quotas),
        cmocka_unit_test(test_intake_budget_bounds_tenants_and_all),
        cmocka_unit_test(test_intake_budget_waits_for_what_comes_back),
    };
    return cmocka_run_group_tests_name("intake_budget", tests, NULL, NULL);
}
