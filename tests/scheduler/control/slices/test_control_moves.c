#include "scheduler/control/slices/control_moves.h"

#include "tests/scheduler/control/control_world.h"
#include "tests/scheduler/control_fixtures.h"

/* Suspended in the middle of a run, again and again, it gives what an undisturbed run gives. */
static void test_control_suspends_and_resumes(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, control_fixture_cpu_and_sim);
    assert_ok(control_fixture_submit(&fixture, "slow", 60, true, NULL, &id));
    for (int round = 1; round <= 3; round++) {
        control_fixture_wait_outputs(&fixture, id, round);
        assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, id));
        assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
        assert_int_equal(job.state, JOB_STATE_SUSPENDED);
        assert_true(job.checkpoint_last >= round);
        assert_fails(CONFLICT, control_suspend(fixture.control, TENANT_DEFAULT, id));
        assert_ok(control_resume(fixture.control, TENANT_DEFAULT, id, round % 2 ? "sim:0" : "cpu"));
        assert_fails(CONFLICT, control_resume(fixture.control, TENANT_DEFAULT, id, NULL));
    }
    control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.output_count, 60);
    control_fixture_check(&fixture, id, 60, 2);
}

/* A grant is taken back before the job began, while something of the job is being stored: until
 * that is stored, the job belongs to the device of the grant, whose loss waits for it. */
static void test_control_moves_take_a_grant_back_on_its_device(void **state) {
    (void)state;
    static ControlWorld world;
    ControlJob *job;
    control_world_init(&world, 1);
    assert_ok(control_job_create(world.control, &job));
    assert_int_equal(job->site.device, 0);
    control_move_out(job, 1, POLICY_PLACE_DISK);
    assert_int_equal(job->site.state, JOB_SITE_UNPLACING);
    assert_true(job_site_is_on(&job->site, 1));
    control_world_deinit(&world);
}

int test_control_moves(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_suspends_and_resumes),
        cmocka_unit_test(test_control_moves_take_a_grant_back_on_its_device),
    };
    return cmocka_run_group_tests_name("control_moves", tests, NULL, NULL);
}
