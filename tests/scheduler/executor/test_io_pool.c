#include "scheduler/executor/io_pool.h"

#include <stdatomic.h>

#include "base/allocator.h"
#include "tests/support/test_support.h"

enum { TASKS = 2000 };

static _Atomic int done;
static int order[TASKS], order_count;

typedef struct Task {
    IoTask task;
    int index;
} Task;

static void count(IoTask *task) {
    memory_free(task);
    (void)atomic_fetch_add(&done, 1);
}

static void note(IoTask *task) { order[order_count++] = ((Task *)task)->index; }

static void test_io_pool_runs_everything_before_it_ends(void **state) {
    (void)state;
    IoPool *pool;
    atomic_store(&done, 0);
    assert_ok(io_pool_create(3, &pool));
    for (int i = 0; i < TASKS; i++) {
        void *memory;
        assert_ok(memory_alloc(1, sizeof(Task), &memory));
        Task *task = memory;
        task->task.run = count;
        io_pool_post(pool, &task->task);
    }
    io_pool_release(pool);
    assert_int_equal(atomic_load(&done), TASKS);
}

static void test_io_pool_of_one_thread_keeps_the_order(void **state) {
    (void)state;
    IoPool *pool;
    static Task tasks[TASKS];
    assert_ok(io_pool_create(1, &pool));
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = (Task){{note, NULL}, i};
        io_pool_post(pool, &tasks[i].task);
    }
    io_pool_release(pool);
    assert_int_equal(order_count, TASKS);
    for (int i = 0; i < TASKS; i++) assert_int_equal(order[i], i);
}

static void test_io_pool_has_a_thread_and_not_too_many(void **state) {
    (void)state;
    IoPool *pool = NULL;
    assert_fails(INVALID, io_pool_create(0, &pool));
    assert_fails(INVALID, io_pool_create(IO_POOL_THREADS_MAX + 1, &pool));
    assert_null(pool);
}

int test_io_pool(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_io_pool_runs_everything_before_it_ends),
        cmocka_unit_test(test_io_pool_of_one_thread_keeps_the_order),
        cmocka_unit_test(test_io_pool_has_a_thread_and_not_too_many),
    };
    return cmocka_run_group_tests_name("io_pool", tests, NULL, NULL);
}
