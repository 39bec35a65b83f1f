#include <pthread.h>

#include "kernels/cpu/cpu_internal.h"
#include "tests/support/test_support.h"

enum { UNITS_MAX = 1000 };

typedef struct Count {
    _Atomic uint32_t touched[UNITS_MAX];
    _Atomic uint32_t parts;
    uint64_t fail_from; /* units from here on fail; UINT64_MAX: none */
} Count;

static Error *touch(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    Count *count = context;
    atomic_fetch_add(&count->parts, 1);
    for (uint64_t i = begin; i < end; i++) atomic_fetch_add(&count->touched[i], 1);
    if (end > count->fail_from) FAIL(FAILED, "part %u", part);
    return NULL;
}

static Device *device;

static int setup(void **state) {
    (void)state;
    assert_ok(device_open("cpu:threads=8", &device));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    device_close(device);
    return 0;
}

static void run(uint32_t threads, uint64_t units, uint64_t least) {
    static Count count;
    memset(&count, 0, sizeof count);
    count.fail_from = UINT64_MAX;
    assert_ok(cpu_for_each(cpu_device(device), threads, units, least, touch, &count));
    for (uint64_t i = 0; i < UNITS_MAX; i++)
        assert_int_equal(atomic_load(&count.touched[i]), i < units);
    if (units)
        assert_int_equal(
            atomic_load(&count.parts), cpu_part_count(cpu_device(device), threads, units, least));
}

static void test_cpu_for_each_does_every_unit_once(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= 9; threads++)
        for (uint64_t units = 0; units < UNITS_MAX; units = units * 2 + 1) {
            run(threads, units, 1);
            run(threads, units, 10);
        }
    run(3, UNITS_MAX, 0);
}

static void test_cpu_part_count_is_worth_its_threads(void **state) {
    (void)state;
    CpuDevice *cpu = cpu_device(device);
    assert_int_equal(cpu_part_count(cpu, 4, 100, 50), 2);
    assert_int_equal(cpu_part_count(cpu, 4, 10, 50), 1);
    assert_int_equal(cpu_part_count(cpu, 100, 1000, 1), 8);
    assert_int_equal(cpu_part_count(cpu, 0, 1000, 1), 1);
}

static void test_cpu_for_each_reports_the_first_failing_part(void **state) {
    (void)state;
    static Count count;
    for (int i = 0; i < 50; i++) {
        memset(&count, 0, sizeof count);
        count.fail_from = 500;
        assert_fails_saying(
            FAILED, "part 2", cpu_for_each(cpu_device(device), 4, 1000, 1, touch, &count));
        assert_int_equal(atomic_load(&count.parts), 4);
    }
}

static void *launch_often(void *argument) {

    for (int i = 0; i < 500; i++) {
        Count count = {.fail_from = UINT64_MAX};
        Error *error = cpu_for_each(cpu_device(device), 4, 100, 1, touch, &count);
        if (error) return argument;
        for (int j = 0; j < 100; j++)
            if (atomic_load(&count.touched[j]) != 1) return argument;
    }
    return NULL;
}

/* Launches that find the workers busy do all parts themselves. */
static void test_cpu_for_each_serves_launches_from_several_threads(void **state) {
    (void)state;
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_often, threads), 0);
    for (int i = 0; i < 3; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_null(result);
    }
}

static void test_cpu_workers_end_whether_used_or_not(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        OWN(Device, own) = NULL;
        Count count = {.fail_from = UINT64_MAX};
        assert_ok(device_open("cpu:threads=3", &own));
        if (i % 2) assert_ok(cpu_for_each(cpu_device(own), 3, 9, 1, touch, &count));
    }
}

int test_cpu_workers(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_for_each_does_every_unit_once),
        cmocka_unit_test(test_cpu_part_count_is_worth_its_threads),
        cmocka_unit_test(test_cpu_for_each_reports_the_first_failing_part),
        cmocka_unit_test(test_cpu_for_each_serves_launches_from_several_threads),
        cmocka_unit_test(test_cpu_workers_end_whether_used_or_not),
    };
    return cmocka_run_group_tests_name("cpu_workers", tests, setup, teardown);
}
