#include "scheduler/policy/policy_state.h"

#include "tests/scheduler/policy_fixture.h"

static void test_actions_stand_in_order_and_in_the_digest(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    uint64_t digest = policy_get_digest(f.policy);
    f.policy->action_count = 0;
    for (uint64_t i = 0; i < 100; i++) {
        const PolicyAction action = {.kind = POLICY_ACTION_ACCEPT, .job = i};
        digest = policy_action_digest(&action, digest);
        assert_ok(policy_act(f.policy, action));
    }
    assert_int_equal(f.policy->action_count, 100);
    for (uint64_t i = 0; i < 100; i++) assert_int_equal(f.policy->actions[i].job, i);
    assert_int_equal(policy_get_digest(f.policy), digest);
}

int test_policy_state(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_actions_stand_in_order_and_in_the_digest),
    };
    return cmocka_run_group_tests_name("policy_state", tests, NULL, NULL);
}
