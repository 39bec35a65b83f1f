#include "scheduler/control/jobs/control_jobs.h"

#include "scheduler/control/state/control_devices.h"
#include "tests/scheduler/control/control_world.h"

/* Each job is met once on a walk, and found by its number, and by its id within its tenant. */
static void test_control_jobs_are_walked_over_and_found(void **state) {
    (void)state;
    static ControlWorld world;
    control_world_init(&world, 1);
    world.calm = true;
    for (int i = 0; i < 3; i++) control_world_ask_for(&world, CONTROL_SUBMIT, 1, (JobId){0});
    for (int i = 0; i < 100 && world.row_count < 3; i++) assert_true(control_world_step(&world));
    const Control *control = world.control;
    size_t at = 0, count = 0;
    for (ControlJob *job; (job = control_jobs_next(control, &at)); count++) {
        assert_ptr_equal(control_job_get(control, job->number.low), job);
        if (!job->id.number) continue; /* its row is not stored yet */
        assert_ptr_equal(control_job_find(world.control, 1, job->id), job);
        assert_null(control_job_find(world.control, 2, job->id));
    }
    assert_int_equal(count, 3);
    assert_null(control_job_get(control, control->jobs->last_number + 1));
    control_world_deinit(&world);
}

/* A job that has ended leaves memory, and the counters of its run are kept. */
static void test_control_jobs_leave_memory_when_they_end(void **state) {
    (void)state;
    static ControlWorld world;
    JobRunCounters counters;
    control_world_init(&world, 1);
    world.calm = true;
    control_world_ask_for(&world, CONTROL_SUBMIT, 1, (JobId){0});
    for (int i = 0; i < 100 && world.row_count == 0; i++) assert_true(control_world_step(&world));
    control_world_finish(&world);
    for (int i = 0; i < 1000 && control_world_step(&world); i++) continue;
    assert_int_equal(world.control->jobs->by_number.count, 0);
    assert_int_equal(world.control->jobs->by_id.count, 0);
    assert_int_equal(world.control->jobs->kept_bytes, 0);
    assert_true(control_find_ended(world.control, (JobId){1, 1}, &counters));
    assert_false(control_find_ended(world.control, (JobId){1, 2}, &counters));
    control_world_deinit(&world);
}

/* A job in host memory has no part in the loss of the device that it was on. */
static void test_control_jobs_in_host_memory_have_snapshots_on_no_device(void **state) {
    (void)state;
    static ControlWorld world;
    control_world_init(&world, 1);
    world.calm = true;
    control_world_ask_for(&world, CONTROL_SUBMIT, 1, (JobId){0});
    ControlJob *job = NULL;
    for (int i = 0; i < 1000 && (!job || job->site.state != JOB_SITE_RUNNING); i++) {
        size_t at = 0;
        assert_true(control_world_step(&world));
        job = control_jobs_next(world.control, &at);
    }
    WorldRun *run = (WorldRun *)(void *)job->hold.run;
    run->has_slice = false;
    job->site.state = JOB_SITE_RESTING;
    assert_ok(control_job_take_snapshot(job));
    assert_int_equal(job->pending.snapshot.where, 1 + job->site.device);
    job->site.state = JOB_SITE_IN_HOST;
    control_lose_device(world.control, job->site.device);
    assert_ok(control_job_take_snapshot(job));
    assert_int_equal(job->pending.snapshot.where, PENDING_SNAPSHOT_IN_HOST);
    control_job_drop_snapshot(job);
    run->has_slice = true;
    job->site.state = JOB_SITE_RUNNING;
    control_world_deinit(&world);
}

int test_control_jobs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_jobs_are_walked_over_and_found),
        cmocka_unit_test(test_control_jobs_leave_memory_when_they_end),
        cmocka_unit_test(test_control_jobs_in_host_memory_have_snapshots_on_no_device),
    };
    return cmocka_run_group_tests_name("control_jobs", tests, NULL, NULL);
}
