#include <pthread.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/registry/device_registry.h"
#include "tests/support/test_support.h"

enum { UNITS_MAX = 1000 };

typedef struct Count {
    _Atomic uint32_t touched[UNITS_MAX];
    _Atomic uint32_t pieces;
    _Atomic uint32_t inside[CPU_THREADS_MAX]; /* by participant */
    uint64_t fail_from;                       /* units from here on fail; UINT64_MAX: none */
} Count;

static Error *touch(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    Count *count = context;
    atomic_fetch_add(&count->pieces, 1);
    assert_int_equal(atomic_fetch_add(&count->inside[part], 1), 0);
    for (uint64_t i = begin; i < end; i++) atomic_fetch_add(&count->touched[i], 1);
    atomic_fetch_sub(&count->inside[part], 1);
    if (end > count->fail_from) FAIL(FAILED, "units from %u", (uint32_t)begin);
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

typedef Error *ForEach(CpuDevice *device, uint32_t threads, uint64_t units,
    uint64_t units_per_part_min, CpuTask *task, void *context);

/* Answers how many pieces it was done in. */
static uint32_t run(ForEach *for_each, uint32_t threads, uint64_t units, uint64_t least) {
    static Count count;
    memset(&count, 0, sizeof count);
    count.fail_from = UINT64_MAX;
    assert_ok(for_each(cpu_device(device), threads, units, least, touch, &count));
    for (uint64_t i = 0; i < UNITS_MAX; i++)
        assert_int_equal(atomic_load(&count.touched[i]), i < units);
    return atomic_load(&count.pieces);
}

static void check_units(uint32_t threads, uint64_t units, uint64_t least) {
    const uint32_t parts = units ? cpu_part_count(cpu_device(device), threads, units, least) : 0;
    assert_int_equal(run(cpu_for_each_share, threads, units, least), parts);
    const uint32_t pieces = run(cpu_for_each, threads, units, least);
    assert_true(parts <= 1 ? pieces == parts : pieces >= parts && pieces <= units);
}

static void test_cpu_for_each_does_every_unit_once(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= 9; threads++)
        for (uint64_t units = 0; units < UNITS_MAX; units = units * 2 + 1) {
            check_units(threads, units, 1);
            check_units(threads, units, 10);
        }
    check_units(3, UNITS_MAX, 0);
}

static void test_cpu_part_count_is_worth_its_threads(void **state) {
    (void)state;
    CpuDevice *cpu = cpu_device(device);
    assert_int_equal(cpu_part_count(cpu, 4, 100, 50), 2);
    assert_int_equal(cpu_part_count(cpu, 4, 10, 50), 1);
    assert_int_equal(cpu_part_count(cpu, 100, 1000, 1), 8);
    assert_int_equal(cpu_part_count(cpu, 0, 1000, 1), 1);
}

/* Whoever is first to fail: the first units' error. */
static void test_cpu_for_each_reports_the_first_failing_piece(void **state) {
    (void)state;
    static Count count;
    for (int i = 0; i < 100; i++) {
        memset(&count, 0, sizeof count);
        count.fail_from = 480;
        assert_fails_saying(FAILED, "units from 480",
            (i % 2 ? cpu_for_each : cpu_for_each_share)(
                cpu_device(device), 4, 960, 1, touch, &count));
        for (int unit = 0; unit < 960; unit++)
            assert_int_equal(atomic_load(&count.touched[unit]), 1);
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
        cmocka_unit_test(test_cpu_for_each_reports_the_first_failing_piece),
        cmocka_unit_test(test_cpu_for_each_serves_launches_from_several_threads),
        cmocka_unit_test(test_cpu_workers_end_whether_used_or_not),
    };
    return cmocka_run_group_tests_name("cpu_workers", tests, setup, teardown);
}
