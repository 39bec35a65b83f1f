#include "base/worker_pool.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/refcount.h"
#include "tests/support/test_support.h"

enum { COUNT = 2000 };

typedef struct Work {
    _Atomic uint32_t calls[COUNT];
    _Atomic size_t started;
    size_t fail_from; /* this index and every third after it fail; COUNT: none */
} Work;

static Error *work_task(void *context, size_t index) {
    Work *work = context;
    atomic_fetch_add(&work->calls[index], 1);
    atomic_fetch_add(&work->started, 1);
    if (index >= work->fail_from && (index - work->fail_from) % 3 == 0)
        FAIL(FAILED, "index %zu", index);
    return NULL;
}

static void test_worker_pool_calls_each_index_once(void **state) {
    (void)state;
    for (uint32_t threads = 0; threads < 5; threads++) {
        OWN(WorkerPool, pool) = NULL;
        if (threads) assert_ok(worker_pool_create("test", threads, &pool));
        if (threads) assert_int_equal(worker_pool_thread_count(pool), threads);
        for (int round = 0; round < 20; round++) {
            Work work = {.fail_from = COUNT};
            assert_ok(worker_pool_for_each(pool, COUNT, work_task, &work));
            for (size_t i = 0; i < COUNT; i++) assert_int_equal(work.calls[i], 1);
        }
        Work none = {.fail_from = COUNT};
        assert_ok(worker_pool_for_each(pool, 0, work_task, &none));
        assert_int_equal(none.started, 0);
    }
}

static void test_worker_pool_reports_the_lowest_failure(void **state) {
    (void)state;
    OWN(WorkerPool, pool) = NULL;
    assert_ok(worker_pool_create("test", 4, &pool));
    for (int round = 0; round < 200; round++) {
        Work work = {.fail_from = 5};
        /* indices start in order, so 5 has always started before a higher one can fail */
        assert_fails_saying(FAILED, "index 5", worker_pool_for_each(pool, COUNT, work_task, &work));
        assert_true(work.started < COUNT);
    }
}

typedef struct Caller {
    WorkerPool *pool;
    pthread_t thread;
} Caller;

static void *caller_main(void *argument) {
    for (int round = 0; round < 50; round++) {
        Work work = {.fail_from = round % 2 ? COUNT : 7};
        Error *error = worker_pool_for_each(((Caller *)argument)->pool, COUNT, work_task, &work);
        bool right = (error == NULL) == (round % 2 == 1);
        error_free(error); /* compared */
        if (!right) return NULL;
    }
    return argument;
}

static void test_worker_pool_serves_several_callers(void **state) {
    (void)state;
    OWN(WorkerPool, pool) = NULL;
    assert_ok(worker_pool_create("test", 3, &pool));
    Caller callers[4];
    for (int i = 0; i < 4; i++) {
        callers[i].pool = pool;
        assert_int_equal(pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(callers[i].thread, &result), 0);
        assert_ptr_equal(result, &callers[i]);
    }
}

static void test_worker_pool_refuses_odd_sizes(void **state) {
    (void)state;
    WorkerPool *pool = NULL;
    assert_fails(INVALID, worker_pool_create("test", 0, &pool));
    assert_fails(INVALID, worker_pool_create("test", WORKER_POOL_THREADS_MAX + 1, &pool));
    assert_null(pool);
    worker_pool_release(NULL);
}

static void test_refcount_knows_the_sole_owner(void **state) {
    (void)state;
    Refcount refcount;
    refcount_init(&refcount);
    assert_true(refcount_is_sole(&refcount));
    refcount_retain(&refcount);
    assert_false(refcount_is_sole(&refcount));
    assert_false(refcount_release(&refcount));
    assert_true(refcount_release(&refcount));
}

int test_worker_pool(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worker_pool_calls_each_index_once),
        cmocka_unit_test(test_worker_pool_reports_the_lowest_failure),
        cmocka_unit_test(test_worker_pool_serves_several_callers),
        cmocka_unit_test(test_worker_pool_refuses_odd_sizes),
        cmocka_unit_test(test_refcount_knows_the_sole_owner),
    };
    return cmocka_run_group_tests_name("worker_pool", tests, NULL, NULL);
}
