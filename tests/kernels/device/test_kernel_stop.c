#include "kernels/device/kernel_stop.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/registry/device_registry.h"
#include "tests/support/test_support.h"

enum { UNITS = 5000 };

static void enter(KernelStop *stop, bool whole) {
    kernel_stop_init(stop);
    kernel_stop_scope = (KernelStopScope){.stop = stop, .whole = whole, .pauses = true};
}

static void leave(KernelStop *stop) {
    kernel_stop_scope = (KernelStopScope){0};
    kernel_stop_deinit(stop);
}

static void test_a_kernel_that_writes_over_its_input_is_only_discarded(void **state) {
    (void)state;
    KernelStop stop;
    enter(&stop, false);
    assert_ok(kernel_stop_check());
    kernel_stop_want(&stop, KERNEL_STOP_ABANDON);
    assert_ok(kernel_stop_check());
    kernel_stop_scope.whole = true;
    assert_fails(ABANDONED, kernel_stop_check());
    kernel_stop_clear(&stop);
    assert_ok(kernel_stop_check());
    kernel_stop_scope.whole = false;
    kernel_stop_want(&stop, KERNEL_STOP_DISCARD);
    kernel_stop_clear(&stop); /* that stays */
    assert_fails(ABANDONED, kernel_stop_check());
    leave(&stop);
}

typedef struct Pause {
    KernelStop stop;
    _Atomic uint32_t told;
    _Atomic uint32_t done;
} Pause;

static void note_pause(void *listener) { atomic_fetch_add(&((Pause *)listener)->told, 1); }

static void *compute(void *argument) {
    Pause *pause = argument;
    kernel_stop_scope = (KernelStopScope){.stop = &pause->stop, .whole = true, .pauses = true};
    Error *error = NULL;
    while (!error && atomic_load(&pause->told) < 2) error = kernel_stop_check();
    while (!error) error = kernel_stop_check();
    assert_int_equal(error_code(error), ERROR_ABANDONED);
    atomic_store(&pause->done, 1);
    return NULL;
}

/* Twice it waits and is told of once; the second time it is abandoned where it waits. */
static void test_a_kernel_pauses_goes_on_and_is_abandoned(void **state) {
    (void)state;
    static Pause pause;
    pthread_t thread;
    kernel_stop_init(&pause.stop);
    kernel_stop_set_listener(&pause.stop, note_pause, &pause);
    kernel_stop_pause(&pause.stop, 0);
    assert_true(thread_start(&thread, "test", compute, &pause));
    while (atomic_load(&pause.told) < 1) continue;
    kernel_stop_resume(&pause.stop);
    kernel_stop_pause(&pause.stop, 0);
    while (atomic_load(&pause.told) < 2) continue;
    assert_int_equal(atomic_load(&pause.done), 0);
    kernel_stop_want(&pause.stop, KERNEL_STOP_ABANDON);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&pause.told), 2);
    kernel_stop_deinit(&pause.stop);
}

/* A pause is told when its time has come; what a leader wants is wanted, and what else is there
 * not. */
static void test_a_stop_follows_another(void **state) {
    (void)state;
    KernelStop stop, follower;
    _Atomic uint32_t told;
    kernel_stop_init(&stop);
    enter(&follower, true);
    kernel_stop_pause(&stop, UINT64_MAX);
    assert_int_equal(kernel_stop_get(&stop), 0);
    assert_false(kernel_stop_tell_paused(&stop));
    kernel_stop_pause(&stop, 0);
    assert_true(kernel_stop_tell_paused(&stop)); /* nobody listens */
    assert_int_equal(kernel_stop_get(&stop), KERNEL_STOP_PAUSE);
    kernel_stop_want(&stop, KERNEL_STOP_ABANDON);
    atomic_init(&told, kernel_stop_get(&stop) | UINT32_C(1) << 31);
    kernel_stop_follow(&follower, &told);
    assert_int_equal(kernel_stop_get(&follower), KERNEL_STOP_ABANDON);
    assert_fails(ABANDONED, kernel_stop_check());
    atomic_store(&told, 0);
    kernel_stop_follow(&follower, &told);
    assert_ok(kernel_stop_check());
    leave(&follower);
    kernel_stop_deinit(&stop);
}

/* While it is to pause it does not compute; a whole end is remembered for the next call. */
static void test_a_long_kernel_is_told_of(void **state) {
    (void)state;
    KernelStop stop;
    _Atomic uint64_t took_ns;
    atomic_init(&took_ns, 7);
    kernel_stop_init(&stop);
    assert_null(kernel_stop_get_kernel(&stop).name);
    kernel_stop_begin_kernel(&stop, "Conv", &took_ns);
    assert_string_equal(kernel_stop_get_kernel(&stop).name, "Conv");
    assert_int_equal(kernel_stop_get_kernel(&stop).usual_ns, 7);
    kernel_stop_pause(&stop, 0);
    const uint64_t before_ns = kernel_stop_get_kernel(&stop).computed_ns;
    assert_int_equal(kernel_stop_get_kernel(&stop).computed_ns, before_ns);
    kernel_stop_resume(&stop);
    while (kernel_stop_get_kernel(&stop).computed_ns <= before_ns) continue;
    kernel_stop_end_kernel(&stop, false);
    assert_null(kernel_stop_get_kernel(&stop).name);
    assert_int_equal(atomic_load(&took_ns), 7);
    kernel_stop_begin_kernel(&stop, "Conv", &took_ns);
    while (kernel_stop_get_kernel(&stop).computed_ns < 1000) continue;
    kernel_stop_end_kernel(&stop, true);
    assert_true(atomic_load(&took_ns) >= 1000);
    kernel_stop_deinit(&stop);
}

static Error *square(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    for (uint64_t i = begin; i < end; i++) ((uint64_t *)context)[i] = i * i;
    return NULL;
}

/* Whichever look it is abandoned at, it can be done again, on any number of threads. */
static void test_a_launch_is_abandoned_at_every_look(void **state) {
    (void)state;
    Device *device;
    static uint64_t squares[UNITS];
    assert_ok(device_open("cpu:threads=3", &device));
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        bool whole = false;
        uint64_t looks = 0;
        for (; !whole; looks++) {
            KernelStop stop;
            enter(&stop, true);
            atomic_store(&stop.countdown, looks + 1);
            atomic_store(&stop.wanted, KERNEL_STOP_COUNTED);
            memset(squares, 0, sizeof squares);
            Error *error = cpu_for_each(cpu_device(device), threads, UNITS, 10, square, squares);
            whole = !error;
            assert_true(whole || error_code(error) == ERROR_ABANDONED);
            leave(&stop);
        }
        assert_true(looks > 2);
        for (uint64_t i = 0; i < UNITS; i++) assert_int_equal(squares[i], i * i);
    }
    device_close(device);
}

/* Nothing beyond the part at whose end it is abandoned; all of it otherwise. */
static void test_a_long_copy_is_abandoned_between_its_parts(void **state) {
    enum { SIZE = 9 << 20, PART = 4 << 20 };
    (void)state;
    char *from = malloc(SIZE), *to = calloc(SIZE, 1);
    assert_non_null(from);
    assert_non_null(to);
    memset(from, 'x', SIZE);
    KernelStop stop;
    enter(&stop, true);
    atomic_store(&stop.countdown, 2);
    atomic_store(&stop.wanted, KERNEL_STOP_COUNTED);
    assert_fails(ABANDONED, kernel_stop_copy(to, from, SIZE));
    assert_int_equal(to[2 * PART - 1], 'x');
    assert_int_equal(to[2 * PART], 0);
    leave(&stop);
    assert_ok(kernel_stop_copy(to, from, SIZE));
    assert_memory_equal(to, from, SIZE);
    free(from);
    free(to);
}

int test_kernel_stop(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_kernel_that_writes_over_its_input_is_only_discarded),
        cmocka_unit_test(test_a_kernel_pauses_goes_on_and_is_abandoned),
        cmocka_unit_test(test_a_launch_is_abandoned_at_every_look),
        cmocka_unit_test(test_a_long_copy_is_abandoned_between_its_parts),
        cmocka_unit_test(test_a_stop_follows_another),
        cmocka_unit_test(test_a_long_kernel_is_told_of),
    };
    return cmocka_run_group_tests_name("kernel_stop", tests, NULL, NULL);
}
