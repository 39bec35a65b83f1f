#include "vm/execution/run_ahead.h"

#include "base/clock.h"
#include "kernels/registry/device_registry.h"
#include "tests/support/test_support.h"

enum { LAG_US = 20000, LAG_NS = LAG_US * 1000 };

typedef struct AheadFixture {
    Device *device;
    MemoryPool *pool;
    uint64_t address;
    RunAhead ahead;
} AheadFixture;

static void ahead_init(AheadFixture *fixture) {
    MemoryAnswer answer;
    *fixture = (AheadFixture){0};
    assert_ok(device_open("sim:0,lag=20000", &fixture->device));
    assert_ok(memory_pool_create(fixture->device, 0, &fixture->pool));
    assert_ok(memory_pool_alloc(fixture->pool, 64, &answer, &fixture->address));
}

static void ahead_deinit(AheadFixture *fixture) {
    run_ahead_deinit(&fixture->ahead, fixture->device);
    memory_pool_free(fixture->pool, fixture->address, 64);
    memory_pool_release(fixture->pool);
    device_close(fixture->device);
}

/* Queues something that takes LAG_US, said to be of so many bytes; answers how long that took. */
static uint64_t add(AheadFixture *fixture, uint64_t bytes) {
    uint8_t byte = 1;
    uint64_t start_ns = clock_now_ns(clock_real());
    assert_ok(fixture->device->class_->copy_from_host(
        fixture->device, memory_pool_get_stream(fixture->pool), fixture->address, &byte, 1));
    assert_ok(run_ahead_add(&fixture->ahead, fixture->pool, bytes));
    return clock_now_ns(clock_real()) - start_ns;
}

/* The first two halves are queued at once; the third waits for the first. */
static void test_run_ahead_waits_when_two_halves_are_queued(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes;
        uint32_t half;
    } cases[] = {{RUN_AHEAD_HALF_BYTES, 1}, {0, RUN_AHEAD_HALF_LAUNCHES}};
    for (size_t i = 0; i < 2; i++) {
        AheadFixture fixture;
        ahead_init(&fixture);
        uint64_t start_ns = clock_now_ns(clock_real());
        for (uint32_t at = 0; at < 2 * cases[i].half; at++) (void)add(&fixture, cases[i].bytes);
        /* the end of the second half has waited for the first's, and only for that */
        uint64_t two_ns = clock_now_ns(clock_real()) - start_ns;
        assert_true(two_ns >= LAG_NS);
        ahead_deinit(&fixture);
    }
}

static void test_run_ahead_lets_little_work_pass(void **state) {
    (void)state;
    AheadFixture fixture;
    ahead_init(&fixture);
    for (uint32_t i = 0; i + 1 < RUN_AHEAD_HALF_LAUNCHES; i++) (void)add(&fixture, 1);
    assert_null(fixture.ahead.ends[0]); /* not even an event was needed */
    assert_null(fixture.ahead.ends[1]);
    ahead_deinit(&fixture);
}

/* Who has waited for the device begins anew. */
static void test_run_ahead_counts_from_a_wait(void **state) {
    (void)state;
    AheadFixture fixture;
    ahead_init(&fixture);
    for (uint32_t i = 0; i < 4 * RUN_AHEAD_HALF_LAUNCHES; i++) {
        assert_ok(run_ahead_add(&fixture.ahead, fixture.pool, RUN_AHEAD_HALF_BYTES / 4));
        if (i % 3 == 2) run_ahead_settle(&fixture.ahead);
    }
    assert_null(fixture.ahead.ends[0]);
    ahead_deinit(&fixture);
}

int test_run_ahead(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_ahead_waits_when_two_halves_are_queued),
        cmocka_unit_test(test_run_ahead_lets_little_work_pass),
        cmocka_unit_test(test_run_ahead_counts_from_a_wait),
    };
    return cmocka_run_group_tests_name("run_ahead", tests, NULL, NULL);
}
