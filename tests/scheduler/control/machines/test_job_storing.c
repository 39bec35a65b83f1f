#include "scheduler/control/machines/job_storing.h"

#include "tests/support/test_support.h"

static void step_to(JobStoring *storing, JobStoringEvent event, JobStoringState wanted) {
    assert_ok(job_storing_step(storing, event));
    assert_int_equal(storing->state, wanted);
}

/* No room, tried again in vain, asked for and stored. */
static void test_job_storing_follows_a_commit_that_finds_no_room(void **state) {
    (void)state;
    JobStoring storing = {0};
    assert_fails_saying(INTERNAL, "job storing: no step for event COMMIT in state NEW",
        job_storing_step(&storing, JOB_STORING_EVENT_COMMIT));
    step_to(&storing, JOB_STORING_EVENT_ROW_STORED, JOB_STORING_STORED);
    step_to(&storing, JOB_STORING_EVENT_COMMIT, JOB_STORING_COMMITTING);
    step_to(&storing, JOB_STORING_EVENT_NO_ROOM, JOB_STORING_STALLED);
    step_to(&storing, JOB_STORING_EVENT_COMMIT, JOB_STORING_RETRYING);
    step_to(&storing, JOB_STORING_EVENT_NO_ROOM, JOB_STORING_STALLED);
    step_to(&storing, JOB_STORING_EVENT_ASK, JOB_STORING_STORED);
    step_to(&storing, JOB_STORING_EVENT_COMMIT, JOB_STORING_COMMITTING);
    step_to(&storing, JOB_STORING_EVENT_STORED_END, JOB_STORING_ENDED);
}

/* The time of trying again comes while a cancelled job's commit is under way. */
static void test_job_storing_may_be_retried_while_it_commits(void **state) {
    (void)state;
    JobStoring storing = {JOB_STORING_RETRYING};
    step_to(&storing, JOB_STORING_EVENT_RETRY, JOB_STORING_COMMITTING);
    storing.state = JOB_STORING_RETRYING;
    step_to(&storing, JOB_STORING_EVENT_ASK, JOB_STORING_COMMITTING);
}

/* One commit at a time, and none of what has ended. */
static void test_job_storing_begins_no_commit_beside_another(void **state) {
    (void)state;
    for (int i = 0; i < JOB_STORING_STATE_COUNT; i++) {
        JobStoring storing = {(uint8_t)i};
        const bool may = i == JOB_STORING_STORED || i == JOB_STORING_STALLED;
        assert_int_equal(
            may, machine_has_step(&job_storing_machine, storing.state, JOB_STORING_EVENT_COMMIT));
        if (may) {
            assert_false(job_storing_is_committing(&storing));
            const bool stalled = job_storing_is_stalled(&storing);
            assert_ok(job_storing_step(&storing, JOB_STORING_EVENT_COMMIT));
            assert_true(job_storing_is_committing(&storing));
            assert_int_equal(job_storing_is_stalled(&storing), stalled);
        }
    }
}

int test_job_storing(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_storing_follows_a_commit_that_finds_no_room),
        cmocka_unit_test(test_job_storing_may_be_retried_while_it_commits),
        cmocka_unit_test(test_job_storing_begins_no_commit_beside_another),
    };
    return cmocka_run_group_tests_name("job_storing", tests, NULL, NULL);
}
