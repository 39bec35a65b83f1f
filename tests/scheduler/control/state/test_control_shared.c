#include "scheduler/control/state/control_shared.h"

#include <pthread.h>
#include <time.h>

#include "tests/scheduler/control_fixtures.h"

enum { SENDERS = 4 };

typedef struct Sender {
    ControlFixture *fixture;
    JobId job;
    int kind;
    Error *error;
    pthread_t thread;
} Sender;

/* Asks for something that takes a while, again and again, until it is told of the failure. */
static void *send(void *argument) {
    Sender *sender = argument;
    Control *control = sender->fixture->control;
    while (!sender->error || error_code(sender->error) != ERROR_IO) {
        JobId made;
        error_free(sender->error);
        sender->error = NULL;
        if (sender->kind == 0)
            sender->error = control_checkpoint(control, TENANT_DEFAULT, sender->job);
        else if (sender->kind == 1)
            sender->error = control_fixture_submit(sender->fixture, "four", 2, false, NULL, &made);
        else if (sender->kind == 2)
            sender->error = control_suspend(control, TENANT_DEFAULT, sender->job);
        else
            sender->error = control_resume(control, TENANT_DEFAULT, sender->job, NULL);
    }
    return NULL;
}

typedef struct Failure {
    Message message;
    const char *text;
} Failure;

static void fail_now(void *context, Message *message) {
    control_fail(
        context, error_make(ERROR_IO, __FILE__, __LINE__, "%s", ((Failure *)message)->text));
}

/* Whoever waits when the control thread gives up, and whoever comes later, is told why; nobody
 * waits for ever. */
static void test_control_failure_answers_everybody(void **state) {
    (void)state;
    for (int round = 0; round < 5; round++) {
        ControlFixture OWN_CONTROL(fixture);
        Sender senders[SENDERS];
        size_t left;
        control_fixture_init(&fixture);
        control_fixture_start(&fixture, NULL);
        for (int i = 0; i < SENDERS; i++) {
            senders[i] = (Sender){.fixture = &fixture, .kind = i};
            assert_ok(control_fixture_submit(&fixture, "forever", 2, false, NULL, &senders[i].job));
        }
        senders[3].job = senders[2].job; /* suspended and resumed by turns */
        for (int i = 0; i < SENDERS; i++)
            assert_int_equal(pthread_create(&senders[i].thread, NULL, send, &senders[i]), 0);
        const struct timespec pause = {.tv_nsec = (round + 1) * 20000000};
        (void)nanosleep(&pause, NULL);
        Failure failure = {{.handle = fail_now}, "the disk is gone"};
        control_post(fixture.control, &failure.message);
        for (int i = 0; i < SENDERS; i++) {
            (void)pthread_join(senders[i].thread, NULL);
            assert_string_equal(error_message(senders[i].error), "the disk is gone");
            error_free(senders[i].error);
        }
        assert_fails_saying(IO, "the disk is gone", control_check(fixture.control));
        assert_fails(IO, control_cancel(fixture.control, TENANT_DEFAULT, senders[0].job));
        assert_fails(IO, control_drain(fixture.control, 0, &left));
    }
}

int test_control_shared(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_failure_answers_everybody),
    };
    return cmocka_run_group_tests_name("control_shared", tests, NULL, NULL);
}
