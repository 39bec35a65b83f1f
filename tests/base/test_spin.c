#include "base/spin.h"

#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "tests/support/test_support.h"

static atomic_bool flag;
static int written;

static void *set_later(void *argument) {
    const struct timespec pause = {.tv_nsec = 2000000};
    (void)argument;
    (void)nanosleep(&pause, NULL);
    written = 7;
    atomic_store_explicit(&flag, true, memory_order_release);
    return NULL;
}

static void test_spin_sees_what_another_thread_wrote(void **state) {
    (void)state;
    pthread_t thread;
    atomic_store(&flag, false);
    assert_int_equal(pthread_create(&thread, NULL, set_later, NULL), 0);
    assert_true(spin_until(&flag, UINT64_C(60000000000)));
    assert_int_equal(written, 7);
    (void)pthread_join(thread, NULL);
}

static void test_spin_gives_up(void **state) {
    (void)state;
    atomic_store(&flag, false);
    uint64_t start_ns = clock_now_ns(clock_real());
    assert_false(spin_until(&flag, 100000));
    assert_true(clock_now_ns(clock_real()) - start_ns >= 100000);
    assert_false(spin_until(&flag, 0));
    atomic_store(&flag, true);
    assert_true(spin_until(&flag, 0));
    assert_true(spin_limit_ns() < 1000000);
}

int test_spin(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spin_sees_what_another_thread_wrote),
        cmocka_unit_test(test_spin_gives_up),
    };
    return cmocka_run_group_tests_name("spin", tests, NULL, NULL);
}
