#include "scheduler/simulate/simulation.h"

#include "tests/scheduler/random_scenario.h"
#include "tests/support/test_support.h"

/* Spoils the n-th action of a kind that the checker is shown. */
typedef struct Spoiler {
    PolicyActionKind kind;
    int mutation;
    uint64_t left;
} Spoiler;

static void spoil(void *self, PolicyAction *action) {
    Spoiler *spoiler = self;
    if (action->kind != spoiler->kind || spoiler->left == 0 || --spoiler->left) return;
    if (spoiler->mutation == 0) action->job = action->job % 20 + 1; /* another job */
    if (spoiler->mutation == 1) action->bytes += (uint64_t)1 << 40;
    if (spoiler->mutation == 2) action->device = action->device ? 0 : 1;
    if (spoiler->mutation == 3) action->kind = POLICY_ACTION_RELEASE;
}

static uint64_t violations_of(uint64_t seed, Spoiler *spoiler) {
    static Scenario scenario;
    OWN(Checker, checker) = NULL;
    SimulationResult result;
    SimulationOptions options = {
        .seed = seed, .tamper = {spoiler ? spoil : NULL, spoiler}, .event_limit = 20000};
    random_scenario(seed, RANDOM_HOSTILE, &scenario);
    assert_ok(simulation_run(&scenario, &options, &result, &checker));
    return checker_violation_count(checker);
}

/* A policy that did this would be found out: each wrong action in some world of a few. */
static void test_the_checker_notices_wrong_actions(void **state) {
    (void)state;
    static const struct {
        PolicyActionKind kind;
        int mutation;
    } wrongs[] = {{POLICY_ACTION_RUN, 0}, {POLICY_ACTION_RUN, 2}, {POLICY_ACTION_RUN, 3},
        {POLICY_ACTION_GRANT, 0}, {POLICY_ACTION_GRANT, 1}, {POLICY_ACTION_GRANT, 2},
        {POLICY_ACTION_MOVE_OUT, 0}, {POLICY_ACTION_MOVE_IN, 0}, {POLICY_ACTION_LOAD_WEIGHTS, 1},
        {POLICY_ACTION_LOAD_WEIGHTS, 2}, {POLICY_ACTION_EVICT_WEIGHTS, 2},
        {POLICY_ACTION_ACCEPT, 0}, {POLICY_ACTION_PREEMPT, 0}, {POLICY_ACTION_SUSPENDED, 0},
        {POLICY_ACTION_RELEASE, 0}};
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        uint64_t found = 0;
        for (uint64_t seed = 1; seed <= 12 && !found; seed++) {
            Spoiler spoiler = {wrongs[i].kind, wrongs[i].mutation, 3};
            found = violations_of(seed, &spoiler);
        }
        if (!found)
            fail_msg("%s with mutation %d goes unnoticed", policy_action_names[wrongs[i].kind],
                wrongs[i].mutation);
    }
}

int test_checker_actions(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_checker_notices_wrong_actions),
    };
    return cmocka_run_group_tests_name("checker_actions", tests, NULL, NULL);
}
