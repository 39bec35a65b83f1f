#include <semaphore.h>
#include <stdatomic.h>

#include "scheduler/control/requests/control_questions.h"
#include "tests/scheduler/control_fixtures.h"

typedef struct Answer {
    sem_t came;
    atomic_int count;
    Error *error;
} Answer;

static void take(void *context, Error *owned_error) {
    Answer *answer = context;
    answer->error = owned_error;
    (void)atomic_fetch_add(&answer->count, 1);
    (void)sem_post(&answer->came);
}

static Error *ask(ControlFixture *fixture, ControlQuestion what, JobId job) {
    Answer answer = {0};
    (void)sem_init(&answer.came, 0, 0);
    TRY(control_ask(fixture->control, what, TENANT_DEFAULT, job, take, &answer));
    while (sem_wait(&answer.came) != 0) continue;
    (void)sem_destroy(&answer.came);
    assert_int_equal(atomic_load(&answer.count), 1);
    return answer.error;
}

/* A question is answered once, with what the function that waits returns. */
static void test_control_questions_are_answered_as_requests_are(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "slow", 60, true, NULL, &id));
    assert_ok(ask(&fixture, CONTROL_ASK_SUSPEND, id));
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
    assert_int_equal(job.state, JOB_STATE_SUSPENDED);
    for (int i = 0; i < 200; i++) /* an answer that comes before control_ask returns */
        assert_fails_saying(CONFLICT, "suspended", ask(&fixture, CONTROL_ASK_SUSPEND, id));
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, id, NULL));
    assert_ok(ask(&fixture, CONTROL_ASK_CANCEL, id));
    assert_fails(CONFLICT, ask(&fixture, CONTROL_ASK_CHECKPOINT, id));
}

int test_control_questions(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_questions_are_answered_as_requests_are),
    };
    return cmocka_run_group_tests_name("control_questions", tests, NULL, NULL);
}
