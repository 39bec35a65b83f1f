#include "scheduler/http/server/http_workers.h"

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
        jobs[i] =
            (Job){.task = {.run = run, .lane = (HttpLane)(i % HTTP_LANE_COUNT), .tenant = i % 7},
                .done = &done};
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
        slow[i] =
            (Job){.task = {.run = run, .lane = HTTP_LANE_SLOW}, .gate = &gate, .done = &slow_done};
        http_workers_post(workers, &slow[i].task);
    }
    quick = (Job){.task = {.run = run, .lane = HTTP_LANE_QUICK}, .done = &quick_done};
    http_workers_post(workers, &quick.task);
    for (int i = 0; i < 10000 && !atomic_load(&quick_done); i++) (void)nanosleep(&pause, NULL);
    assert_int_equal(atomic_load(&quick_done), 1);
    assert_int_equal(atomic_load(&slow_done), 0);
    atomic_store(&gate, true);
    http_workers_close(workers);
    assert_int_equal(atomic_load(&slow_done), 8);
}

typedef struct CountedJob {
    HttpTask task;
    atomic_bool *gate;
    atomic_int *running, *done;
} CountedJob;

static void run_counted(HttpTask *task) {
    static const struct timespec pause = {.tv_nsec = 1000000};
    CountedJob *job = (CountedJob *)task;
    (void)atomic_fetch_add(job->running, 1);
    while (!atomic_load(job->gate)) (void)nanosleep(&pause, NULL);
    (void)atomic_fetch_add(job->done, 1);
}

static void wait_for(const atomic_int *counter, int count) {
    static const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < 10000 && atomic_load(counter) < count; i++) (void)nanosleep(&pause, NULL);
    assert_int_equal(atomic_load(counter), count);
}

/* Of sixteen threads the first tenant gets half, the next ones half of what is left, and the one
 * that comes last finds a thread at once. */
static void test_http_workers_leave_a_thread_for_the_next_tenant(void **state) {
    (void)state;
    enum { TENANTS = 4, EACH = 20 };
    static const int shares[TENANTS] = {8, 4, 2, 1};
    static CountedJob jobs[TENANTS][EACH];
    static atomic_int running[TENANTS], done;
    static atomic_bool gate;
    HttpWorkers *workers;
    assert_ok(http_workers_open(32, &workers));
    for (size_t tenant = 0; tenant < TENANTS; tenant++) {
        for (size_t i = 0; i < EACH; i++) {
            jobs[tenant][i] =
                (CountedJob){.task = {.run = run_counted, .lane = HTTP_LANE_SLOW, .tenant = tenant},
                    .gate = &gate,
                    .running = &running[tenant],
                    .done = &done};
            http_workers_post(workers, &jobs[tenant][i].task);
        }
        wait_for(&running[tenant], shares[tenant]);
    }
    for (size_t tenant = 0; tenant < TENANTS; tenant++)
        assert_int_equal(atomic_load(&running[tenant]), shares[tenant]);
    atomic_store(&gate, true);
    http_workers_close(workers);
    assert_int_equal(atomic_load(&done), TENANTS * EACH);
}

typedef struct OrderedJob {
    HttpTask task;
    uint64_t *order;
    size_t *count;
} OrderedJob;

static void run_ordered(HttpTask *task) { /* in a lane of one thread */
    OrderedJob *job = (OrderedJob *)task;
    job->order[(*job->count)++] = task->tenant;
}

/* In a lane of one thread a tenant with one task waits for one of another tenant, not for all. */
static void test_http_workers_take_turns_by_tenant(void **state) {
    (void)state;
    static CountedJob blocker;
    static OrderedJob jobs[12];
    static uint64_t order[12];
    static size_t count;
    static atomic_bool gate;
    static atomic_int running, done;
    static const uint64_t tenants[] = {2, 2, 2, 2, 2, 3, 2, 2, 4, 3, 2, 4};
    static const uint64_t turns[] = {2, 3, 4, 2, 3, 4, 2, 2, 2, 2, 2, 2};
    HttpWorkers *workers;
    assert_ok(http_workers_open(2, &workers));
    blocker = (CountedJob){.task = {.run = run_counted, .lane = HTTP_LANE_SLOW, .tenant = 1},
        .gate = &gate,
        .running = &running,
        .done = &done};
    http_workers_post(workers, &blocker.task);
    wait_for(&running, 1);
    for (size_t i = 0; i < 12; i++) {
        jobs[i] =
            (OrderedJob){.task = {.run = run_ordered, .lane = HTTP_LANE_SLOW, .tenant = tenants[i]},
                .order = order,
                .count = &count};
        http_workers_post(workers, &jobs[i].task);
    }
    atomic_store(&gate, true);
    http_workers_close(workers);
    assert_int_equal(count, 12);
    assert_memory_equal(order, turns, sizeof turns);
}

/* A tenant whose queue is full is refused; another one is not. */
static void test_http_workers_refuse_what_one_tenant_has_too_much_of(void **state) {
    (void)state;
    enum { EACH = 2000 };
    static CountedJob jobs[EACH], other;
    static atomic_int running, done;
    static atomic_bool gate;
    HttpWorkers *workers;
    Error *error = NULL;
    int taken = 0;
    assert_ok(http_workers_open(4, &workers));
    for (; taken < EACH && !error; taken++) {
        jobs[taken] =
            (CountedJob){.task = {.run = run_counted, .lane = HTTP_LANE_COMPILE, .tenant = 1},
                .gate = &gate,
                .running = &running,
                .done = &done};
        error = http_workers_offer(workers, &jobs[taken].task);
    }
    assert_int_equal(error_code(error), ERROR_EXHAUSTED);
    error_free(error);
    assert_in_range(taken, 32, 40);
    other = jobs[0];
    other.task.tenant = 2;
    assert_ok(http_workers_offer(workers, &other.task));
    atomic_store(&gate, true);
    http_workers_close(workers);
    assert_int_equal(atomic_load(&done), taken); /* one was refused, one is the other's */
}

int test_http_workers(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_workers_run_everything_before_they_close),
        cmocka_unit_test(test_http_workers_keep_threads_for_quick_tasks),
        cmocka_unit_test(test_http_workers_leave_a_thread_for_the_next_tenant),
        cmocka_unit_test(test_http_workers_take_turns_by_tenant),
        cmocka_unit_test(test_http_workers_refuse_what_one_tenant_has_too_much_of),
    };
    return cmocka_run_group_tests_name("http_workers", tests, NULL, NULL);
}
