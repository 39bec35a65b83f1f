#include "scheduler/control/machines/job_goal.h"

#include "tests/support/test_support.h"

static void step_to(JobGoal *goal, JobGoalEvent event, JobGoalState wanted) {
    assert_ok(job_goal_step(goal, event));
    assert_int_equal(goal->state, wanted);
}

/* That it is queued again is stored: nobody wants anything of it any more. */
static void test_job_goal_forgets_a_resume_that_is_done(void **state) {
    (void)state;
    JobGoal goal = {0};
    step_to(&goal, JOB_GOAL_EVENT_STALL, JOB_GOAL_HALTING);
    step_to(&goal, JOB_GOAL_EVENT_RESUME_STALLED, JOB_GOAL_RESUMING);
    step_to(&goal, JOB_GOAL_EVENT_RESTED, JOB_GOAL_RESUMING);
    step_to(&goal, JOB_GOAL_EVENT_SETTLED, JOB_GOAL_RUN);
}

/* Its data has no room when it is to go: it stays here, suspended. */
static void test_job_goal_keeps_a_departing_job_without_room_here(void **state) {
    (void)state;
    JobGoal goal = {0};
    step_to(&goal, JOB_GOAL_EVENT_DEPART, JOB_GOAL_DEPARTING);
    assert_int_equal(job_goal_info(&goal)->rest, JOB_STATE_HELD);
    step_to(&goal, JOB_GOAL_EVENT_STALL, JOB_GOAL_DEPARTING_STALLED);
    assert_true(job_goal_is_departing(&goal));
    assert_int_equal(job_goal_info(&goal)->rest, JOB_STATE_SUSPENDED);
    step_to(&goal, JOB_GOAL_EVENT_RESTED, JOB_GOAL_HALTING);
    step_to(&goal, JOB_GOAL_EVENT_SETTLED, JOB_GOAL_RUN);
}

/* What a file or another node owns is not taken back, cancelled or resumed. */
static void test_job_goal_does_not_take_back_what_others_own(void **state) {
    (void)state;
    const JobGoal releasing = {JOB_GOAL_RELEASING}, transferring = {JOB_GOAL_TRANSFERRING};
    assert_int_equal(job_goal_info(&releasing)->leave, JOB_STATE_RELEASED);
    assert_int_equal(job_goal_info(&transferring)->leave, JOB_STATE_MOVED);
    assert_false(job_goal_allows(&releasing, JOB_GOAL_EVENT_THAW));
    assert_false(job_goal_allows(&transferring, JOB_GOAL_EVENT_RETAIN));
    for (int i = 0; i < JOB_GOAL_STATE_COUNT; i++) {
        const JobGoal goal = {(uint8_t)i};
        const bool goes = job_goal_is_leaving(&goal) || job_goal_is_departing(&goal);
        assert_int_equal(job_goal_allows(&goal, JOB_GOAL_EVENT_CANCEL), !goes);
        assert_int_equal(job_goal_allows(&goal, JOB_GOAL_EVENT_RESUME_STALLED), !goes);
        assert_int_equal(
            job_goal_allows(&goal, JOB_GOAL_EVENT_TRANSFER), !job_goal_is_leaving(&goal));
        if (goes) assert_true(job_goal_info(&goal)->refusal[0]);
    }
}

/* What happens by itself may happen in every state. */
static void test_job_goal_has_a_step_for_whatever_happens(void **state) {
    (void)state;
    for (int i = 0; i < JOB_GOAL_STATE_COUNT; i++) {
        JobGoal goal = {(uint8_t)i};
        assert_true(job_goal_allows(&goal, JOB_GOAL_EVENT_STALL));
        assert_true(job_goal_allows(&goal, JOB_GOAL_EVENT_SETTLED));
        assert_true(job_goal_allows(&goal, JOB_GOAL_EVENT_RESTED));
        assert_ok(job_goal_step(&goal, JOB_GOAL_EVENT_STORE_FAILED));
        assert_false(job_goal_is_leaving(&goal));
        assert_ok(job_goal_step(&goal, JOB_GOAL_EVENT_GIVE_UP));
        assert_int_equal(goal.state, JOB_GOAL_BROKEN);
        assert_int_equal(job_goal_info(&goal)->leave, JOB_STATE_NONE);
    }
}

/* What nobody wants, another node owns or cannot be stored is not stored. */
static void test_job_goal_discards_what_is_not_to_be_stored(void **state) {
    (void)state;
    for (int i = 0; i < JOB_GOAL_STATE_COUNT; i++) {
        const JobGoal goal = {(uint8_t)i};
        assert_int_equal(job_goal_info(&goal)->discards_slice,
            i == JOB_GOAL_TRANSFERRING || i == JOB_GOAL_CANCELLING || i == JOB_GOAL_BROKEN);
    }
}

int test_job_goal(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_goal_forgets_a_resume_that_is_done),
        cmocka_unit_test(test_job_goal_keeps_a_departing_job_without_room_here),
        cmocka_unit_test(test_job_goal_does_not_take_back_what_others_own),
        cmocka_unit_test(test_job_goal_has_a_step_for_whatever_happens),
        cmocka_unit_test(test_job_goal_discards_what_is_not_to_be_stored),
    };
    return cmocka_run_group_tests_name("job_goal", tests, NULL, NULL);
}
