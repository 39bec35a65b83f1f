#include "scheduler/policy/admission.h"

#include "tests/scheduler/policy_fixture.h"

static void expect_refusal(
    PolicyFixture *f, PolicyEvent job, PolicyReason reason, uint64_t limit, uint64_t used) {
    policy_submit(f, job);
    const PolicyAction *refuse = policy_expect(f, POLICY_ACTION_REFUSE, job.job);
    assert_int_equal(refuse->reason, reason);
    assert_int_equal(refuse->limit, limit);
    assert_int_equal(refuse->used, used);
}

static void test_a_refusal_names_the_figure(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 100 * MIB);
    PolicyEvent large = policy_job(1, 0), elsewhere = policy_job(2, 0);
    large.bytes = 91 * MIB;
    elsewhere.device = 5;
    expect_refusal(&f, large, POLICY_REASON_DEVICE_MEMORY, 100 * MIB, 101 * MIB);
    expect_refusal(&f, elsewhere, POLICY_REASON_NO_DEVICE, 0, 0);
    policy_set_limit(&f, 0, POLICY_QUOTA_DEVICE_BYTES, 50 * MIB);
    expect_refusal(&f, large, POLICY_REASON_QUOTA, 50 * MIB, 101 * MIB);
    assert_int_equal(policy_action(&f, POLICY_ACTION_REFUSE)->quota, POLICY_QUOTA_DEVICE_BYTES);
    policy_set_limit(&f, 0, POLICY_QUOTA_QUEUED_JOBS, 1);
    policy_start(&f, policy_job(3, 0));
    PolicyEvent alone = policy_job(4, 0);
    alone.bytes = 80 * MIB; /* does not fit beside the first */
    policy_submit(&f, alone);
    policy_expect(&f, POLICY_ACTION_ACCEPT, 4);
    expect_refusal(&f, policy_job(5, 0), POLICY_REASON_QUOTA, 1, 2);
    assert_int_equal(policy_action(&f, POLICY_ACTION_REFUSE)->quota, POLICY_QUOTA_QUEUED_JOBS);
}

static void test_suspend_and_resume_in_every_state(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_submit(&f, policy_job(1, 0)); /* no device yet: it waits */
    policy_about_job(&f, POLICY_EVENT_SUSPEND_REQUESTED, 1);
    policy_expect(&f, POLICY_ACTION_SUSPENDED, 1);
    policy_add_device(&f, 0, 100 * MIB);
    assert_null(policy_action(&f, POLICY_ACTION_LOAD_WEIGHTS));
    policy_about_job(&f, POLICY_EVENT_RESUME_REQUESTED, 1); /* placing: weights are loaded */
    policy_about_job(&f, POLICY_EVENT_SUSPEND_REQUESTED, 1);
    policy_expect(&f, POLICY_ACTION_SUSPENDED, 1);
    policy_about_weights(&f, POLICY_EVENT_WEIGHTS_LOADED, 1, 0, true);
    policy_about_job(&f, POLICY_EVENT_RESUME_REQUESTED, 1);
    policy_expect(&f, POLICY_ACTION_RUN, 1);
    policy_about_job(&f, POLICY_EVENT_SUSPEND_REQUESTED, 1); /* running */
    policy_expect(&f, POLICY_ACTION_PREEMPT, 1);
    assert_fails(
        CONFLICT, policy_tell(&f, (PolicyEvent){.kind = POLICY_EVENT_SUSPEND_REQUESTED, .job = 1}));
    policy_end_slice(&f, 1, 0, MS, POLICY_OUTCOME_SUSPENDED);
    assert_int_equal(policy_expect(&f, POLICY_ACTION_MOVE_OUT, 1)->place, POLICY_PLACE_DISK);
    policy_moved(&f, POLICY_EVENT_MOVED_OUT, 1, true);
    policy_expect(&f, POLICY_ACTION_SUSPENDED, 1);
    policy_about_job(&f, POLICY_EVENT_RESUME_REQUESTED, 1);
    assert_int_equal(policy_expect(&f, POLICY_ACTION_MOVE_IN, 1)->place, POLICY_PLACE_DISK);
    policy_moved(&f, POLICY_EVENT_MOVED_IN, 1, true);
    policy_expect(&f, POLICY_ACTION_RUN, 1);
}

static void test_cancel_waits_for_the_slice_only(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 100 * MIB);
    policy_start(&f, policy_job(1, 0));
    policy_start(&f, policy_job(2, 0));
    policy_about_job(&f, POLICY_EVENT_CANCEL_REQUESTED, 2);
    policy_expect(&f, POLICY_ACTION_RELEASE, 2);
    policy_about_job(&f, POLICY_EVENT_CANCEL_REQUESTED, 1);
    policy_expect(&f, POLICY_ACTION_PREEMPT, 1);
    assert_null(policy_action(&f, POLICY_ACTION_RELEASE));
    policy_end_slice(&f, 1, 0, MS, POLICY_OUTCOME_SLICE_ENDED);
    policy_expect(&f, POLICY_ACTION_RELEASE, 1);
    assert_int_equal(f.policy->jobs.count, 0);
}

int test_admission(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refusal_names_the_figure),
        cmocka_unit_test(test_suspend_and_resume_in_every_state),
        cmocka_unit_test(test_cancel_waits_for_the_slice_only),
    };
    return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}
