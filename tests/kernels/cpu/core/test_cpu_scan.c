#include "kernels/cpu/core/cpu_scan.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "kernels/device/kernel_stop.h"
#include "tests/support/test_support.h"

enum { PARTS = 50, THREADS = 9, ROUNDS = 40 };

/* A reader: what was computed for it, and how often others were there. */
typedef struct Context {
    int computed[PARTS];
    atomic_int beside;        /* parts that were computed for others at once */
    atomic_int abandon_after; /* parts; 0: never */
    KernelStop stop;
    bool whole;
} Context;

static void compute(void *const *contexts, uint32_t count, int64_t part) {
    assert_true(count > 0 && count <= CPU_SCAN_READERS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        Context *context = contexts[i];
        context->computed[part]++;
        if (count > 1) (void)atomic_fetch_add(&context->beside, 1);
        if (atomic_fetch_sub(&context->abandon_after, 1) == 1)
            kernel_stop_want(&context->stop, KERNEL_STOP_ABANDON);
    }
    sched_yield();
}

static const int weights[2];

/* True: nothing was left out. */
static bool scan(const int *from, Context *context) {
    kernel_stop_init(&context->stop);
    kernel_stop_scope = (KernelStopScope){.stop = &context->stop, .whole = true};
    Error *error = cpu_scan_run(from, PARTS, compute, context);
    kernel_stop_scope = (KernelStopScope){0};
    kernel_stop_deinit(&context->stop);
    assert_true(!error || error_code(error) == ERROR_ABANDONED);
    return !error;
}

static void check_whole(const Context *context) {
    assert_true(context->whole);
    for (int i = 0; i < PARTS; i++) assert_int_equal(context->computed[i], 1);
}

static void test_a_scan_computes_every_part_once(void **state) {
    (void)state;
    Context context = {0};
    context.whole = scan(weights, &context);
    check_whole(&context);
    assert_int_equal(context.beside, 0);
}

static void test_an_abandoned_scan_stops_behind_a_part(void **state) {
    (void)state;
    Context context = {.abandon_after = 7};
    assert_false(scan(weights, &context));
    for (int i = 0; i < PARTS; i++) assert_int_equal(context.computed[i], i < 7);
    /* asked for behind the last part: it is done */
    Context late = {.abandon_after = PARTS};
    late.whole = scan(weights, &late);
    check_whole(&late);
}

static atomic_int beside;

static void *read_often(void *argument) {
    const intptr_t thread = (intptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        const int abandon_after = (thread + round) % 5 == 0 ? 1 + round : 0;
        Context context = {.abandon_after = abandon_after};
        context.whole = scan(&weights[thread % 3 == 0], &context);
        int computed = 0;
        for (int i = 0; i < PARTS; i++) computed += context.computed[i];
        if (context.whole)
            check_whole(&context);
        else
            assert_true(abandon_after > 0 && computed < PARTS);
        (void)atomic_fetch_add(&beside, context.beside);
    }
    return NULL;
}

/* More of them than one scan takes, some of which go before they are done. */
static void test_threads_read_together(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    atomic_store(&beside, 0);
    for (intptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_often, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(atomic_load(&beside) > 0);
}

enum { MANY = 40 };

static pthread_barrier_t all_in;

static void meet(void *const *contexts, uint32_t count, int64_t part) {
    (void)count;
    if (part == 0) (void)pthread_barrier_wait(&all_in);
    Context *context = contexts[0];
    context->computed[part]++;
}

static void *read_own(void *argument) {
    static const int many[MANY];
    const intptr_t thread = (intptr_t)argument;
    Context context = {0};
    context.whole = !cpu_scan_run(&many[thread], PARTS, meet, &context);
    check_whole(&context);
    return NULL;
}

/* More different weights at a time than there are places. */
static void test_scans_without_a_place_are_read_alone(void **state) {
    (void)state;
    pthread_t threads[MANY];
    assert_int_equal(pthread_barrier_init(&all_in, NULL, MANY), 0);
    for (intptr_t i = 0; i < MANY; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_own, (void *)i), 0);
    for (int i = 0; i < MANY; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    (void)pthread_barrier_destroy(&all_in);
}

int test_cpu_scan(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_scan_computes_every_part_once),
        cmocka_unit_test(test_an_abandoned_scan_stops_behind_a_part),
        cmocka_unit_test(test_threads_read_together),
        cmocka_unit_test(test_scans_without_a_place_are_read_alone),
    };
    return cmocka_run_group_tests_name("cpu_scan", tests, NULL, NULL);
}
