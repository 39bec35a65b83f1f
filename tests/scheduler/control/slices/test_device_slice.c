#include "scheduler/control/slices/device_slice.h"

#include "scheduler/control/state/device_table.h"
#include "tests/scheduler/control/control_world.h"

static ControlJob *step_until_running(ControlWorld *world) {
    for (int i = 0; i < 1000; i++) {
        size_t at = 0;
        ControlJob *job = control_jobs_next(world->control, &at);
        if (job && job->site.state == JOB_SITE_RUNNING) return job;
        assert_true(control_world_step(world));
    }
    fail_msg("no job runs");
    return NULL;
}

/* A job has its device while it runs, is asked for the device, and is remembered as its holder. */
static void test_device_slice_is_held_by_the_job_that_runs(void **state) {
    (void)state;
    static ControlWorld world;
    control_world_init(&world, 1);
    world.calm = true;
    control_world_ask_for(&world, CONTROL_SUBMIT, 1, (JobId){0});
    ControlJob *job = step_until_running(&world);
    ControlDevice *device = &world.control->devices->items[job->site.device];
    const uint64_t number = job->number.low;
    assert_ptr_equal(device->slice.running, job);
    assert_int_equal(device->slice.holder, number);
    assert_int_equal(device->slice.give_up_ns, 0);
    control_ask_for_device(job);
    assert_true(device->slice.give_up_ns > world.clock.now_ns);
    control_world_finish(&world);
    assert_null(device->slice.running);
    assert_int_equal(device->slice.holder, number);
    control_world_deinit(&world);
}

/* A slice on a lent thread ends sooner, and its kernel does not pause there. */
static void test_device_slice_is_shortened_on_a_lent_thread(void **state) {
    (void)state;
    static ControlWorld world;
    control_world_init(&world, 1);
    world.calm = true;
    control_world_ask_for(&world, CONTROL_SUBMIT, 1, (JobId){0});
    ControlJob *job = step_until_running(&world);
    DeviceSlice *slice = &world.control->devices->items[job->site.device].slice;
    slice->end_ns = 0;
    control_shorten_slice(job, 1000);
    assert_int_equal(slice->end_ns, job->slice.resumed_ns + 1000);
    control_shorten_slice(job, 2000);
    assert_int_equal(slice->end_ns, job->slice.resumed_ns + 1000);
    control_world_finish(&world);
    control_world_deinit(&world);
}

int test_device_slice(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_slice_is_held_by_the_job_that_runs),
        cmocka_unit_test(test_device_slice_is_shortened_on_a_lent_thread),
    };
    return cmocka_run_group_tests_name("device_slice", tests, NULL, NULL);
}
