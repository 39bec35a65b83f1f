#include "scheduler/control/drive/control_core.h"

#include "scheduler/control/jobs/control_commits.h"
#include "scheduler/control/jobs/control_tellings.h"
#include "tests/scheduler/control/control_world.h"
#include "tests/support/test_random.h"

enum { SEEDS = 20, STEPS = 50000 };

/* Each kind of thing has happened. */
static void check_variety(const ControlWorld *world) {
    static const uint8_t seen[] = {JOB_SITE_ABSENT, JOB_SITE_AWAITING_ROW, JOB_SITE_OPENING,
        JOB_SITE_OPENING_RECALLED, JOB_SITE_RUNNING, JOB_SITE_RESTING, JOB_SITE_LEAVING_TO_DISK,
        JOB_SITE_ENTERING_FROM_DISK};
    assert_true(world->submitted > 100 && world->committed > 100 && world->restarts > 0);
    assert_true(world->stalled > 0 && world->lost > 0 && world->refused > 0);
    for (size_t i = 0; i < sizeof seen; i++) assert_true(world->site_steps[seen[i]] > 0);
}

static void run_world(uint64_t seed, uint64_t steps) {
    static ControlWorld world; /* too large for a stack */
    print_message("seed %llu\n", (unsigned long long)seed);
    control_world_init(&world, seed);
    while (world.step < steps) {
        const bool idle = !control_world_step(&world);
        if (idle || world_chance(&world, 8)) control_world_ask(&world);
        if (world_chance(&world, 400)) control_world_disturb(&world);
        if (world.full && world_chance(&world, 100)) world.full = false;
        if (world_chance(&world, 5000)) control_world_restart(&world);
    }
    control_world_finish(&world);
    control_world_drain(&world);
    check_variety(&world);
    control_world_deinit(&world);
}

/* Whatever is asked, fails or is lost, in any order: the machines take only steps of their tables,
 * no output is stored twice or missing, every request is answered once, and every job ends when
 * nothing fails any more. */
static void test_control_core_survives_whatever_happens(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    const TestSeeds seeds = test_seeds(SEEDS);
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) run_world(seed, STEPS);
}

static void step_until(ControlWorld *world, JobState state) {
    for (int i = 0; i < 1000 && (world->row_count == 0 || world->rows[0].job.state != state); i++)
        assert_true(control_world_step(world));
    assert_int_equal(world->rows[0].job.state, state);
}

/* A world in which nothing fails and one job is suspended. */
static void begin_suspended(ControlWorld *world) {
    control_world_init(world, 3);
    world->calm = true;
    control_world_ask_for(world, CONTROL_SUBMIT, 1, (JobId){0});
    step_until(world, JOB_STATE_QUEUED);
    control_world_ask_for(world, CONTROL_SUSPEND, 1, (JobId){1, 1});
    step_until(world, JOB_STATE_SUSPENDED);
}

/* Two people resume a job at once: the job runs, and ends as it would have. */
static void test_control_core_resumes_a_job_once(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    static ControlWorld world;
    begin_suspended(&world);
    control_world_ask_for(&world, CONTROL_RESUME, 1, (JobId){1, 1});
    control_world_ask_for(&world, CONTROL_RESUME, 1, (JobId){1, 1});
    step_until(&world, JOB_STATE_QUEUED);
    control_world_finish(&world);
    assert_int_equal(world.rows[0].job.state, JOB_STATE_SUCCEEDED);
    assert_int_equal(world.refused, 0);
    control_world_deinit(&world);
}

/* A job is cancelled while its resume is being stored: the policy does not get it again, and it
 * leaves memory. */
static void test_control_core_ends_a_job_that_was_resumed_just_before(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    static ControlWorld world;
    begin_suspended(&world);
    control_world_ask_for(&world, CONTROL_RESUME, 1, (JobId){1, 1});
    assert_true(control_world_step(&world)); /* the commit is under way */
    control_world_ask_for(&world, CONTROL_CANCEL, 1, (JobId){1, 1});
    step_until(&world, JOB_STATE_CANCELLED);
    for (int i = 0; i < 1000 && control_world_step(&world); i++) continue;
    assert_int_equal(world.control->jobs->by_number.count, 0);
    assert_int_equal(world.answered, world.asked);
    control_world_deinit(&world);
}

/* The disk is full, and a job is cancelled while its resume is being stored: the cancellation needs
 * no room, so it is not refused with the resume. */
static void test_control_core_cancels_beside_a_commit_without_room(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    static ControlWorld world;
    begin_suspended(&world);
    control_world_ask_for(&world, CONTROL_RESUME, 1, (JobId){1, 1});
    assert_true(control_world_step(&world)); /* the commit is under way */
    world.full = true;
    control_world_ask_for(&world, CONTROL_CANCEL, 1, (JobId){1, 1});
    step_until(&world, JOB_STATE_CANCELLED);
    for (int i = 0; i < 1000 && control_world_step(&world); i++) continue;
    assert_int_equal(world.control->jobs->by_number.count, 0);
    assert_int_equal(world.answered, world.asked);
    assert_int_equal(world.refused, 1); /* the resume: meanwhile the job is cancelled */
    control_world_deinit(&world);
}

/* Nobody gets a checkpoint of before it was asked for: a request that comes while a snapshot is
 * being stored and the job runs on waits for the next one. */
static void test_control_core_answers_with_a_checkpoint_taken_since(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    static ControlWorld world;
    control_world_init(&world, 3);
    world.calm = true;
    control_world_ask_for(&world, CONTROL_SUBMIT, 1, (JobId){0});
    step_until(&world, JOB_STATE_QUEUED);
    const ControlJob *job = control_job_find(world.control, 1, (JobId){1, 1});
    while (!job_site_is_running(&job->site)) assert_true(control_world_step(&world));
    control_world_ask_for(&world, CONTROL_CHECKPOINT, 1, (JobId){1, 1});
    while (job->pending.checkpoint_wanted || !job_site_is_running(&job->site) ||
           !job_storing_is_committing(&job->pending.storing))
        assert_true(control_world_step(&world));
    world.clock.now_ns++; /* the snapshot was taken before */
    control_world_ask_for(&world, CONTROL_CHECKPOINT, 1, (JobId){1, 1});
    const uint64_t answered = world.answered;
    assert_int_equal(world.asked, answered + 2); /* neither is answered yet */
    while (world.answered == answered) assert_true(control_world_step(&world));
    assert_int_equal(world.answered, answered + 1);
    while (world.answered < world.asked) assert_true(control_world_step(&world));
    assert_int_equal(world.refused, 0);
    control_world_deinit(&world);
}

/* A cancel that comes while the job's end is being stored comes too late, and is told so. */
static void test_control_core_refuses_a_cancel_of_a_job_that_has_ended(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    static ControlWorld world;
    control_world_init(&world, 3);
    world.calm = true;
    control_world_ask_for(&world, CONTROL_SUBMIT, 1, (JobId){0});
    step_until(&world, JOB_STATE_QUEUED);
    const ControlJob *job = control_job_find(world.control, 1, (JobId){1, 1});
    while (job->slice.items_done < world.rows[0].total || job_site_is_running(&job->site) ||
           job->pending.next.state != JOB_STATE_NONE ||
           !job_storing_is_committing(&job->pending.storing))
        assert_true(control_world_step(&world));
    control_world_ask_for(&world, CONTROL_CANCEL, 1, (JobId){1, 1});
    step_until(&world, JOB_STATE_SUCCEEDED);
    for (int i = 0; i < 1000 && control_world_step(&world); i++) continue;
    assert_int_equal(world.answered, world.asked);
    assert_int_equal(world.refused, 1);
    control_world_deinit(&world);
}

/* What a suspended job has to store finds no room, and the job is resumed: it runs as soon as that
 * is stored, though no state was stored with it. */
static void test_control_core_resumes_a_job_whose_note_had_no_room(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    static ControlWorld world;
    begin_suspended(&world);
    control_world_ask_for(&world, CONTROL_LOAD, 1, (JobId){1, 1});
    for (int i = 0; i < 1000 && control_world_step(&world); i++) continue;
    ControlJob *job = control_job_find(world.control, 1, (JobId){1, 1});
    assert_non_null(job);
    world.full = true;
    control_tell(job, JOB_EVENT_NOTE, "something to store");
    control_commit(job);
    while (!job_storing_is_stalled(&job->pending.storing)) assert_true(control_world_step(&world));
    world.full = false;
    const uint64_t refused = world.refused;
    control_world_ask_for(&world, CONTROL_RESUME, 1, (JobId){1, 1});
    step_until(&world, JOB_STATE_QUEUED);
    control_world_finish(&world);
    assert_int_equal(world.rows[0].job.state, JOB_STATE_SUCCEEDED);
    assert_int_equal(world.refused, refused);
    assert_int_equal(world.answered, world.asked);
    control_world_deinit(&world);
}

/* The time of a drain is over while a new job's row is being stored. */
static void test_control_core_drains_beside_a_job_that_comes(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    static ControlWorld world;
    control_world_init(&world, 1);
    world.calm = true;
    control_world_ask_for(&world, CONTROL_SUBMIT, 1, (JobId){0});
    assert_true(control_world_step(&world));
    assert_int_equal(world.row_count, 0);
    control_world_drain(&world);
    assert_int_equal(world.row_count, 1);
    control_world_deinit(&world);
}

int test_control_core(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_core_resumes_a_job_once),
        cmocka_unit_test(test_control_core_ends_a_job_that_was_resumed_just_before),
        cmocka_unit_test(test_control_core_cancels_beside_a_commit_without_room),
        cmocka_unit_test(test_control_core_answers_with_a_checkpoint_taken_since),
        cmocka_unit_test(test_control_core_refuses_a_cancel_of_a_job_that_has_ended),
        cmocka_unit_test(test_control_core_resumes_a_job_whose_note_had_no_room),
        cmocka_unit_test(test_control_core_drains_beside_a_job_that_comes),
        cmocka_unit_test(test_control_core_survives_whatever_happens),
    };
    return cmocka_run_group_tests_name("control_core", tests, NULL, NULL);
}
