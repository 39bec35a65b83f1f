#include "scheduler/http/http_workers.h"

#include <stdatomic.h>
#include <time.h>

#include "tests/support/test_support.h"

typedef struct Job {
    HttpTask task;
    atomic_bool *gate; /* waits until it opens */
    atomic_int *done;
} Job;

static void run(HttpTask *task) {
    static const struct timespec pause = {.tv_nsec = 1000000};
    Job *job = (Job *)task;
    while (job->gate && !atomic_load(job->gate)) (void)nanosleep(&pause, NULL);
    (void)atomic_fetch_add(job->done, 1);
}

static void test_http_workers_run_everything_before_they_close(void **state) {
    (void)state;
    static Job jobs[1000];
    static atomic_int done;
    HttpWorkers *workers;
    assert_ok(http_workers_open(4, &workers));
    for (size_t i = 0; i < 1000; i++) {
        jobs[i] = (Job){.task = {.run = run, .slow = i % 2}, .done = &done};
        http_workers_post(workers, &jobs[i].task);
    }
    http_workers_close(workers);
    assert_int_equal(atomic_load(&done), 1000);
    assert_fails(INVALID, http_workers_open(1, &workers));
    assert_fails(INVALID, http_workers_open(HTTP_WORKERS_MAX + 1, &workers));
}

/* However many slow tasks wait, quick ones find a thread. */
static void test_http_workers_keep_threads_for_quick_tasks(void **state) {
    (void)state;
    static Job slow[8], quick;
    static atomic_bool gate;
    static atomic_int slow_done, quick_done;
    static const struct timespec pause = {.tv_nsec = 1000000};
    HttpWorkers *workers;
    assert_ok(http_workers_open(4, &workers));
    for (size_t i = 0; i < 8; i++) {
        slow[i] = (Job){.task = {.run = run, .slow = true}, .gate = &gate, .done = &slow_done};
        http_workers_post(workers, &slow[i].task);
    }
    quick = (Job){.task = {.run = run}, .done = &quick_done};
    http_workers_post(workers, &quick.task);
    for (int i = 0; i < 10000 && !atomic_load(&quick_done); i++) (void)nanosleep(&pause, NULL);
    assert_int_equal(atomic_load(&quick_done), 1);
    assert_int_equal(atomic_load(&slow_done), 0);
    atomic_store(&gate, true);
    http_workers_close(workers);
    assert_int_equal(atomic_load(&slow_done), 8);
}

int test_http_workers(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_workers_run_everything_before_they_close),
        cmocka_unit_test(test_http_workers_keep_threads_for_quick_tasks),
    };
    return cmocka_run_group_tests_name("http_workers", tests, NULL, NULL);
}
