#include "scheduler/control/state/job_check.h"

#include <string.h>

#include "scheduler/control/state/device_table.h"
#include "tests/scheduler/control/control_world.h"

/* A job whose machines stand so, and what is said of it; NULL: nothing. */
typedef struct Case {
    const char *what;
    uint8_t site, storing, goal;
    JobState stored, next;
    bool stranger, blocked;
} Case;

/* clang-format off */
static const Case cases[] = {
    {NULL, JOB_SITE_RUNNING, JOB_STORING_NEW, JOB_GOAL_RUN, JOB_STATE_NONE, 0, false, false},
    {NULL, JOB_SITE_RESTING, JOB_STORING_COMMITTING, JOB_GOAL_RUN, JOB_STATE_QUEUED, 0, false, true},
    {NULL, JOB_SITE_ABSENT, JOB_STORING_STORED, JOB_GOAL_FROZEN, JOB_STATE_SUSPENDED, 0, true, false},
    {NULL, JOB_SITE_RUNNING, JOB_STORING_ENDED, JOB_GOAL_CANCELLING, JOB_STATE_CANCELLED, 0, false, false},
    {"storing is NEW, and a state is stored",
        JOB_SITE_ABSENT, JOB_STORING_NEW, JOB_GOAL_RUN, JOB_STATE_QUEUED, 0, false, false},
    {"no state is stored, and storing is neither NEW nor ENDED",
        JOB_SITE_ABSENT, JOB_STORING_STORED, JOB_GOAL_RUN, JOB_STATE_NONE, 0, false, false},
    {"storing is NEW, and the goal is not RUN",
        JOB_SITE_ABSENT, JOB_STORING_NEW, JOB_GOAL_FROZEN, JOB_STATE_NONE, 0, false, false},
    {"storing is NEW, and the site is ENTERING_FROM_DISK",
        JOB_SITE_ENTERING_FROM_DISK, JOB_STORING_NEW, JOB_GOAL_RUN, JOB_STATE_NONE, 0, false, false},
    {"an end is stored, and storing is not ENDED",
        JOB_SITE_ABSENT, JOB_STORING_STORED, JOB_GOAL_RUN, JOB_STATE_SUCCEEDED, 0, false, false},
    {"storing is ENDED, no thread needs the job, and the job is not freed",
        JOB_SITE_RESTING, JOB_STORING_ENDED, JOB_GOAL_RUN, JOB_STATE_SUCCEEDED, 0, true, false},
    {"a slice is there of a job that the policy does not know and that does not end",
        JOB_SITE_RUNNING, JOB_STORING_STORED, JOB_GOAL_RUN, JOB_STATE_QUEUED, 0, true, false},
    {NULL, JOB_SITE_RUNNING, JOB_STORING_STALLED, JOB_GOAL_RUN, JOB_STATE_QUEUED, JOB_STATE_FAILED, true, false},
    {"the job leaves to disk, and no commit is under way or waits",
        JOB_SITE_LEAVING_TO_DISK, JOB_STORING_STORED, JOB_GOAL_RUN, JOB_STATE_QUEUED, 0, false, false},
    {"storing is ENDED, and the policy waits for a move to disk",
        JOB_SITE_HOST_TO_DISK, JOB_STORING_ENDED, JOB_GOAL_RUN, JOB_STATE_SUCCEEDED, 0, false, false},
    {"the job waits for its outputs to be stored, and there is no run",
        JOB_SITE_ABSENT, JOB_STORING_STORED, JOB_GOAL_RUN, JOB_STATE_QUEUED, 0, false, true},
    {"the goal is FROZEN or RELEASING, and the job is queued or runs",
        JOB_SITE_RUNNING, JOB_STORING_STORED, JOB_GOAL_FROZEN, JOB_STATE_SUSPENDED, 0, false, false},
    {"the goal is FROZEN or RELEASING, and the job is queued or runs",
        JOB_SITE_ABSENT, JOB_STORING_STORED, JOB_GOAL_RELEASING, JOB_STATE_QUEUED, 0, false, false},
    {"the goal is to depart and HELD is stored, and the job runs",
        JOB_SITE_OPENING, JOB_STORING_STORED, JOB_GOAL_DEPARTING, JOB_STATE_HELD, 0, false, false},
    {"the goal is CANCELLING, and no cancellation is stored or wanted",
        JOB_SITE_ABSENT, JOB_STORING_STORED, JOB_GOAL_CANCELLING, JOB_STATE_QUEUED, 0, false, false},
    {NULL, JOB_SITE_ABSENT, JOB_STORING_STALLED, JOB_GOAL_CANCELLING, JOB_STATE_QUEUED, JOB_STATE_CANCELLED, false, false},
};
/* clang-format on */

static ControlJob make_job(Control *control, const Case *one) {
    ControlJob job = {.number.low = 5, .control = control, .known = !one->stranger};
    job.site.state = one->site;
    job.pending.storing.state = one->storing;
    job.pending.stored = one->stored;
    job.pending.next.state = one->next;
    job.asked.goal.state = one->goal;
    job.slice.blocked = one->blocked;
    return job;
}

/* Every combination that must not occur is named, with the states of the machines. */
static void test_job_check_names_what_must_not_occur(void **state) {
    (void)state;
    static ControlWorld world;
    control_world_init(&world, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ControlJob job = make_job(world.control, &cases[i]);
        OWN(Error, error) = control_job_check(&job);
        if (!cases[i].what && error) fail_msg("case %zu: %s", i, error_message(error));
        if (!cases[i].what) continue;
        assert_int_equal(error_code(error), ERROR_INTERNAL);
        if (!strstr(error_message(error), cases[i].what))
            fail_msg("case %zu: %s", i, error_message(error));
        assert_non_null(strstr(error_message(error), "job 5: "));
        assert_non_null(strstr(error_message(error), job_site_machine.states[cases[i].site].name));
    }
    control_world_deinit(&world);
}

/* Nothing of a job is on a device that is being closed or opened. */
static void test_job_check_finds_jobs_on_closed_devices(void **state) {
    (void)state;
    static ControlWorld world;
    control_world_init(&world, 1);
    DevicePresence *presence = &world.control->devices->items[1].presence;
    ControlJob job = make_job(world.control,
        &(Case){
            .site = JOB_SITE_RESTING, .storing = JOB_STORING_STORED, .stored = JOB_STATE_QUEUED});
    job.site.device = 1;
    presence->state = DEVICE_PRESENCE_LOST;
    assert_ok(control_job_check(&job));
    presence->state = DEVICE_PRESENCE_CLOSING;
    assert_fails_saying(
        INTERNAL, "the site is on a device that is closed", control_job_check(&job));
    job.site.state = JOB_SITE_ABSENT;
    assert_ok(control_job_check(&job));
    job.pending.snapshot.where = 2;
    assert_fails_saying(INTERNAL, "a snapshot is in the memory of a device that is closed",
        control_job_check(&job));
    job.pending.snapshot.where = PENDING_SNAPSHOT_IN_HOST;
    assert_ok(control_job_check(&job));
    presence->state = DEVICE_PRESENCE_PRESENT;
    control_world_deinit(&world);
}

/* The control thread gives up behind the turn in which a job came to such a combination. */
static void test_job_check_is_made_behind_each_turn(void **state) {
    (void)state;
    static ControlWorld world;
    ControlJob *job;
    control_world_init(&world, 1);
    assert_ok(control_job_create(world.control, &job));
    control_core_turn(world.control);
    assert_ok(control_check(world.control));
    job->asked.goal.state = JOB_GOAL_FROZEN;
    control_core_turn(world.control);
    assert_fails_saying(INTERNAL,
        "storing is NEW, and the goal is not RUN (site ABSENT, storing NEW",
        control_check(world.control));
    control_world_deinit(&world);
}

int test_job_check(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_check_names_what_must_not_occur),
        cmocka_unit_test(test_job_check_finds_jobs_on_closed_devices),
        cmocka_unit_test(test_job_check_is_made_behind_each_turn),
    };
    return cmocka_run_group_tests_name("job_check", tests, NULL, NULL);
}
