#include "scheduler/control/machines/job_durable.h"

#include "tests/support/test_support.h"

/* A run that is lost costs what was not stored, and a checkpoint is never forgotten. */
static void test_job_durable_keeps_the_checkpoint_when_the_run_is_lost(void **state) {
    (void)state;
    JobDurable durable = {0};
    assert_int_equal(durable.state, JOB_DURABLE_INPUTS);
    assert_ok(job_durable_step(&durable, JOB_DURABLE_EVENT_RUN_LOST));
    assert_int_equal(durable.state, JOB_DURABLE_BEGUN);
    assert_ok(job_durable_step(&durable, JOB_DURABLE_EVENT_CHECKPOINTED));
    assert_ok(job_durable_step(&durable, JOB_DURABLE_EVENT_RUN_LOST));
    assert_int_equal(durable.state, JOB_DURABLE_CHECKPOINT);
}

int test_job_durable(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_durable_keeps_the_checkpoint_when_the_run_is_lost),
    };
    return cmocka_run_group_tests_name("job_durable", tests, NULL, NULL);
}
