#include "base/thread.h"

#include <errno.h>
#include <signal.h>

#include "base/clock.h"
#include "tests/support/test_support.h"

static void *blocks_signals(void *argument) {
    sigset_t mask;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    *(bool *)argument = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGUSR1) == 1;
    return argument;
}

static void test_thread_start_keeps_signals_from_it(void **state) {
    (void)state;
    pthread_t thread;
    void *result;
    bool blocked = false;
    sigset_t before, after;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_true(thread_start(&thread, "a name of more than 15 letters", blocks_signals, &blocked));
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &blocked);
    assert_true(blocked);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

/* A time of the monotonic clock, not of the calendar, which is decades further. */
static void test_thread_condition_waits_by_the_monotonic_clock(void **state) {
    (void)state;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition;
    const uint64_t due_ns = clock_now_ns(clock_real()) + 20000000;
    const struct timespec due = clock_timespec(due_ns);
    thread_condition_init(&condition);
    assert_int_equal(pthread_mutex_lock(&mutex), 0);
    assert_int_equal(pthread_cond_timedwait(&condition, &mutex, &due), ETIMEDOUT);
    assert_true(clock_now_ns(clock_real()) >= due_ns);
    assert_int_equal(pthread_mutex_unlock(&mutex), 0);
    assert_int_equal(pthread_cond_destroy(&condition), 0);
}

int test_thread(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thread_start_keeps_signals_from_it),
        cmocka_unit_test(test_thread_condition_waits_by_the_monotonic_clock),
    };
    return cmocka_run_group_tests_name("thread", tests, NULL, NULL);
}
