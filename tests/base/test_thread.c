#include "base/thread.h"

#include <signal.h>

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

int test_thread(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thread_start_keeps_signals_from_it),
    };
    return cmocka_run_group_tests_name("thread", tests, NULL, NULL);
}
