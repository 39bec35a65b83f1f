#include "scheduler/control/machines/job_site.h"

#include "tests/support/test_support.h"

static JobSite site_in(JobSiteState state) { return (JobSite){.state = (uint8_t)state}; }

static void step_to(JobSite *site, JobSiteEvent event, JobSiteState wanted) {
    assert_ok(job_site_step(site, event));
    assert_int_equal(site->state, wanted);
}

/* Opened, run, set aside, moved out and in again. */
static void test_job_site_follows_a_job_through_its_life(void **state) {
    (void)state;
    JobSite site = {0};
    step_to(&site, JOB_SITE_EVENT_RUN_WAITS, JOB_SITE_AWAITING_ROW);
    step_to(&site, JOB_SITE_EVENT_ROW_STORED, JOB_SITE_OPENING);
    step_to(&site, JOB_SITE_EVENT_OPENED, JOB_SITE_RUNNING);
    step_to(&site, JOB_SITE_EVENT_SET_ASIDE, JOB_SITE_ASIDE);
    step_to(&site, JOB_SITE_EVENT_LEAVE_TO_HOST, JOB_SITE_ASIDE_TO_HOST);
    step_to(&site, JOB_SITE_EVENT_SLICE_ENDED, JOB_SITE_RESTING);
    step_to(&site, JOB_SITE_EVENT_LEAVE_TO_HOST, JOB_SITE_LEAVING_TO_HOST);
    step_to(&site, JOB_SITE_EVENT_LEFT, JOB_SITE_IN_HOST);
    step_to(&site, JOB_SITE_EVENT_LEAVE_TO_DISK, JOB_SITE_HOST_TO_DISK);
    step_to(&site, JOB_SITE_EVENT_STORED, JOB_SITE_ABSENT);
    step_to(&site, JOB_SITE_EVENT_ENTER_FROM_DISK, JOB_SITE_ENTERING_FROM_DISK);
    step_to(&site, JOB_SITE_EVENT_ENTERED, JOB_SITE_RESTING);
    step_to(&site, JOB_SITE_EVENT_RUN_BEGINS, JOB_SITE_RUNNING);
    assert_fails_saying(INTERNAL, "job site: no step for event RUN_BEGINS in state RUNNING",
        job_site_step(&site, JOB_SITE_EVENT_RUN_BEGINS));
    assert_int_equal(site.state, JOB_SITE_RUNNING);
}

/* A slice that was taken back while its run was being made does not begin. */
static void test_job_site_does_not_begin_a_slice_that_was_recalled(void **state) {
    (void)state;
    JobSite site = site_in(JOB_SITE_AWAITING_ROW);
    step_to(&site, JOB_SITE_EVENT_RECALL, JOB_SITE_AWAITING_ROW_RECALLED);
    step_to(&site, JOB_SITE_EVENT_ROW_STORED, JOB_SITE_OPENING_RECALLED);
    assert_fails(INTERNAL, job_site_step(&site, JOB_SITE_EVENT_OPENED));
    step_to(&site, JOB_SITE_EVENT_OPENED_UNUSED, JOB_SITE_RESTING);
}

/* A move that does not work leaves the job where it was, and a failure waits for the policy. */
static void test_job_site_stays_where_it_is_when_a_move_fails(void **state) {
    (void)state;
    static const JobSiteState back[][2] = {
        {JOB_SITE_UNPLACING, JOB_SITE_ABSENT},
        {JOB_SITE_LEAVING_TO_HOST, JOB_SITE_RESTING},
        {JOB_SITE_LEAVING_TO_DISK, JOB_SITE_RESTING},
        {JOB_SITE_HOST_TO_DISK, JOB_SITE_IN_HOST},
        {JOB_SITE_ENTERING_FROM_HOST, JOB_SITE_IN_HOST},
        {JOB_SITE_ENTERING_FROM_DISK, JOB_SITE_ABSENT},
    };
    for (size_t i = 0; i < sizeof back / sizeof *back; i++) {
        JobSite site = site_in(back[i][0]);
        step_to(&site, JOB_SITE_EVENT_MOVE_FAILED, back[i][1]);
    }
    JobSite failed = site_in(JOB_SITE_FAILED_ASIDE);
    step_to(&failed, JOB_SITE_EVENT_LEAVE_TO_HOST, JOB_SITE_FAILED_ASIDE);
    step_to(&failed, JOB_SITE_EVENT_LEAVE_TO_DISK, JOB_SITE_FAILED_ASIDE);
}

/* Whatever can be on a device that is quiet goes when it is lost; what is elsewhere stays. */
static void test_job_site_loses_what_is_on_a_lost_device(void **state) {
    (void)state;
    for (int i = 0; i < JOB_SITE_STATE_COUNT; i++) {
        JobSite site = site_in((JobSiteState)i);
        site.device = 3;
        assert_false(job_site_is_on(&site, 2));
        const bool loses =
            job_site_machine.steps[i * JOB_SITE_EVENT_COUNT + JOB_SITE_EVENT_DEVICE_LOST] != 0;
        const bool under_way = job_site_is_busy(&site) || job_site_has_slice(&site);
        assert_int_equal(loses, job_site_is_on(&site, 3) && !under_way);
        if (loses) step_to(&site, JOB_SITE_EVENT_DEVICE_LOST, JOB_SITE_ABSENT);
    }
}

static void test_job_site_says_who_has_the_job(void **state) {
    (void)state;
    const JobSite absent = site_in(JOB_SITE_ABSENT), opening = site_in(JOB_SITE_OPENING),
                  running = site_in(JOB_SITE_RUNNING), aside = site_in(JOB_SITE_ASIDE_TO_DISK),
                  resting = site_in(JOB_SITE_RESTING), host = site_in(JOB_SITE_IN_HOST);
    assert_false(job_site_is_open(&absent));
    assert_true(job_site_is_open(&opening));
    assert_true(job_site_is_running(&opening));
    assert_true(job_site_is_busy(&opening));
    assert_false(job_site_is_resting(&opening));
    assert_true(job_site_is_running(&running));
    assert_true(job_site_has_slice(&running));
    assert_false(job_site_is_aside(&running));
    assert_false(job_site_is_busy(&running));
    assert_true(job_site_has_slice(&aside));
    assert_true(job_site_is_aside(&aside));
    assert_true(job_site_is_busy(&aside));
    assert_false(job_site_is_running(&aside));
    assert_true(job_site_is_resting(&resting));
    assert_true(job_site_is_resting(&host));
    assert_false(job_site_is_on(&host, 0));
}

int test_job_site(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_site_follows_a_job_through_its_life),
        cmocka_unit_test(test_job_site_does_not_begin_a_slice_that_was_recalled),
        cmocka_unit_test(test_job_site_stays_where_it_is_when_a_move_fails),
        cmocka_unit_test(test_job_site_loses_what_is_on_a_lost_device),
        cmocka_unit_test(test_job_site_says_who_has_the_job),
    };
    return cmocka_run_group_tests_name("job_site", tests, NULL, NULL);
}
