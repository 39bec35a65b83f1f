#include "scheduler/control/drive/control_loop.h"

#include "scheduler/control/state/control_state.h"

#include <semaphore.h>

#include "tests/scheduler/control_fixtures.h"

typedef struct Note {
    Message message;
    sem_t *handled;
    pthread_t thread;
    uint64_t due_ns;
} Note;

static void take_note(void *context, Message *message) {
    Note *note = (Note *)message;
    (void)context;
    note->thread = pthread_self();
    (void)sem_post(note->handled);
}

/* Messages are handled on the loop's thread while there is one that helps, and on the caller's
 * behind its end. */
static void test_control_loop_handles_messages_on_its_thread(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    sem_t handled;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_int_equal(sem_init(&handled, 0, 0), 0);
    Note first = {.message.handle = take_note, .handled = &handled}, last = first;
    control_post(fixture.control, &first.message);
    while (sem_wait(&handled) != 0) continue;
    assert_false(pthread_equal(first.thread, pthread_self()));
    control_loop_stop(fixture.control->loop);
    control_post(fixture.control, &last.message);
    control_loop_handle_rest(fixture.control->loop, fixture.control);
    assert_int_equal(sem_trywait(&handled), 0);
    assert_true(pthread_equal(last.thread, pthread_self()));
    (void)sem_destroy(&handled);
}

/* A message that was left is handled on the caller's thread, or on the one that has the turn, which
 * ends its turn while the caller pauses. */
static void test_control_loop_takes_help(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    sem_t handled;
    size_t own = 0;
    const struct timespec pause = {.tv_nsec = 1000000};
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    const ControlMailbox mailbox = fixture.control->ports.mailbox;
    assert_int_equal(sem_init(&handled, 0, 0), 0);
    for (int i = 0; i < 100; i++) {
        Note note = {.message.handle = take_note, .handled = &handled};
        mailbox.leave(mailbox.self, &note.message);
        mailbox.help(mailbox.self);
        while (sem_wait(&handled) != 0) continue;
        own += pthread_equal(note.thread, pthread_self()) ? 1 : 0;
        (void)nanosleep(&pause, NULL);
    }
    assert_true(own > 0);
    (void)sem_destroy(&handled);
}

/* The time of the next turn wakes the thread without a message: two jobs that end by themselves
 * never share the device without their slices being ended. */
static void test_control_loop_wakes_when_a_turn_is_due(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId endless, short_;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 2, false, NULL, &endless));
    control_fixture_wait_progress(&fixture, endless, 1);
    assert_ok(control_fixture_submit(&fixture, "slow", 2, false, NULL, &short_));
    control_fixture_wait(&fixture, short_, JOB_STATE_SUCCEEDED, &job);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, endless));
}

/* A loop that was never started is stopped and released. */
static void test_control_loop_ends_without_a_thread(void **state) {
    (void)state;
    ControlLoop *loop;
    assert_ok(control_loop_create(&loop));
    control_loop_stop(loop);
    control_loop_release(loop);
    control_loop_stop(NULL);
    control_loop_release(NULL);
}

int test_control_loop(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_loop_handles_messages_on_its_thread),
        cmocka_unit_test(test_control_loop_takes_help),
        cmocka_unit_test(test_control_loop_wakes_when_a_turn_is_due),
        cmocka_unit_test(test_control_loop_ends_without_a_thread),
    };
    return cmocka_run_group_tests_name("control_loop", tests, NULL, NULL);
}
