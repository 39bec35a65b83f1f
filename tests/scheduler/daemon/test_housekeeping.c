#include "scheduler/daemon/housekeeping.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/accounts/tenants_internal.h"
#include "tests/scheduler/control_fixtures.h"

#define DAY_NS (24 * 60 * MINUTE_NS)

typedef struct Bench {
    ControlFixture node;
    Metrics *metrics;
    SimulatedClock clock;
    Housekeeping *housekeeping;
} Bench;

/* The clock begins where the jobs' times are. */
static void bench_init(Bench *bench) {
    *bench = (Bench){0};
    control_fixture_init(&bench->node);
    control_fixture_start(&bench->node, NULL);
    assert_ok(metrics_create(&bench->metrics));
    bench->clock.calendar_start_s = clock_real().calendar_s(clock_real().self);
    HousekeepingOptions options = {.store = bench->node.store,
        .catalog = bench->node.catalog,
        .metrics = bench->metrics,
        .clock = clock_simulated(&bench->clock)};
    assert_ok(housekeeping_create(&options, &bench->housekeeping));
}

static void bench_deinit(Bench *bench) {
    housekeeping_release(bench->housekeeping);
    metrics_release(bench->metrics);
    control_fixture_deinit(&bench->node);
}
#define OWN_BENCH(name) __attribute__((cleanup(bench_deinit))) name

static uint64_t read_metric(const Bench *bench, const char *row) {
    TextBuilder OWN_TEXT(text) = {0};
    assert_ok(metrics_print(bench->metrics, &text));
    const char *at = strstr(text_builder_get(&text), row);
    assert_non_null(at);
    return (uint64_t)strtoull(at + strlen(row), NULL, 10);
}

static bool is_there(const Bench *bench, JobId id) {
    Job job;
    Error *error = jobs_get(bench->node.store, TENANT_DEFAULT, id, &job);
    if (error) assert_int_equal(error_code(error), ERROR_NOT_FOUND);
    bool there = !error;
    error_free(error);
    return there;
}

static Error *set_retention(Connection *catalog, void *context) {
    const int64_t *seconds = context;
    return tenants_set_retention(catalog, TENANT_DEFAULT, *seconds);
}

static void retain(Bench *bench, int64_t seconds) {
    assert_ok(catalog_run(bench->node.catalog, set_retention, &seconds));
}

/* A turn at the end of each minute, as a daemon takes it. */
static void live(Bench *bench, int minutes) {
    for (int i = 0; i < minutes; i++) {
        bench->clock.now_ns += MINUTE_NS;
        assert_ok(housekeeping_turn(bench->housekeeping));
    }
}

static void restart(Bench *bench) {
    housekeeping_release(bench->housekeeping);
    HousekeepingOptions options = {.store = bench->node.store,
        .catalog = bench->node.catalog,
        .clock = clock_simulated(&bench->clock)};
    assert_ok(housekeeping_create(&options, &bench->housekeeping));
    assert_ok(housekeeping_turn(bench->housekeeping)); /* comes at once */
}

/* Neither while the daemon runs nor at a start: the calendar, time between two processes, and a
 * turn that comes days late take nothing away. */
static void test_housekeeping_keeps_finished_jobs_when_a_clock_jumps(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    JobId before, after;
    Job job;
    bench_init(&bench);
    assert_ok(control_fixture_submit(&bench.node, "four", 1, false, NULL, &before));
    control_fixture_wait(&bench.node, before, JOB_STATE_SUCCEEDED, &job);
    retain(&bench, 3600);
    live(&bench, 10);
    bench.clock.calendar_start_s += 30 * 86400;
    live(&bench, 10);
    bench.clock.now_ns += 30 * DAY_NS;
    restart(&bench);
    assert_true(is_there(&bench, before));
    bench.clock.calendar_start_s += 30 * 86400;
    restart(&bench);
    bench.clock.now_ns += 30 * DAY_NS;
    assert_ok(housekeeping_turn(bench.housekeeping)); /* counts as one minute */
    assert_true(is_there(&bench, before));
    assert_ok(control_fixture_submit(&bench.node, "four", 1, false, NULL, &after));
    control_fixture_wait(&bench.node, after, JOB_STATE_SUCCEEDED, &job);
    bench.clock.calendar_start_s -= 90 * 86400;
    live(&bench, 39);
    assert_true(is_there(&bench, before));
    live(&bench, 1); /* 10 + 10 + 1 + 40: an hour and the minute in which it ended */
    assert_false(is_there(&bench, before));
    live(&bench, 20);
    assert_true(is_there(&bench, after));
    live(&bench, 1);
    assert_false(is_there(&bench, after));
}

static void test_housekeeping_lets_finished_jobs_go_after_their_time(void **state) {
    (void)state;
    enum { JOBS = 40 }; /* more than go at once */
    Bench OWN_BENCH(bench);
    JobId done[JOBS], waits;
    Job job;
    bench_init(&bench);
    for (int i = 0; i < JOBS; i++)
        assert_ok(control_fixture_submit(&bench.node, "four", 1, false, NULL, &done[i]));
    assert_ok(control_fixture_submit(&bench.node, "forever", 1, false, NULL, &waits));
    for (int i = 0; i < JOBS; i++)
        control_fixture_wait(&bench.node, done[i], JOB_STATE_SUCCEEDED, &job);
    retain(&bench, 3600);
    live(&bench, 60);
    for (int i = 0; i < JOBS; i++) assert_true(is_there(&bench, done[i]));
    live(&bench, 1);
    for (int i = 0; i < JOBS; i++) assert_false(is_there(&bench, done[i]));
    assert_true(is_there(&bench, waits));
    assert_int_equal(read_metric(&bench, "\nlayover_jobs_expired_total "), JOBS);
}

static Error *add_tenants(Connection *catalog, void *context) {
    TenantId *last = context;
    for (int i = 0; i < 100; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "t%d", i);
        TRY(tenants_add(catalog, name, last));
    }
    return tenants_set_retention(catalog, TENANT_DEFAULT, 3600);
}

/* Each by its own tenant's retention, however many tenants there are. */
static void test_housekeeping_asks_every_tenant(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    JobId id;
    TenantId last;
    Job job;
    bench_init(&bench);
    assert_ok(catalog_run(bench.node.catalog, add_tenants, &last));
    assert_ok(control_fixture_submit(&bench.node, "four", 1, false, NULL, &id));
    control_fixture_wait(&bench.node, id, JOB_STATE_SUCCEEDED, &job);
    assert_ok(housekeeping_turn(bench.housekeeping));
    assert_true(is_there(&bench, id));
    live(&bench, 61);
    assert_false(is_there(&bench, id));
}

static Error *note_garbage(Connection *catalog, void *context) {
    (void)context;
    TRY(tenants_charge_unlimited(catalog, TENANT_DEFAULT, HOUSEKEEPING_GC_BYTES));
    return tenants_discharge(catalog, TENANT_DEFAULT, HOUSEKEEPING_GC_BYTES);
}

/* When there is enough to give back, not twice within ten minutes; and once a day. */
static void test_housekeeping_sweeps_when_it_is_worth_it(void **state) {
    (void)state;
    static const char row[] = "\nlayover_gc_seconds_count ";
    Bench OWN_BENCH(bench);
    bench_init(&bench);
    for (uint64_t minute = 1; minute < 30; minute++) {
        bench.clock.now_ns = minute * MINUTE_NS;
        assert_ok(housekeeping_turn(bench.housekeeping));
    }
    assert_int_equal(read_metric(&bench, row), 0);
    assert_ok(catalog_run(bench.node.catalog, note_garbage, NULL));
    assert_ok(housekeeping_turn(bench.housekeeping));
    assert_int_equal(read_metric(&bench, row), 1);
    assert_ok(catalog_run(bench.node.catalog, note_garbage, NULL));
    bench.clock.now_ns += 9 * MINUTE_NS;
    assert_ok(housekeeping_turn(bench.housekeeping));
    assert_int_equal(read_metric(&bench, row), 1);
    bench.clock.now_ns += MINUTE_NS;
    assert_ok(housekeeping_turn(bench.housekeeping));
    assert_int_equal(read_metric(&bench, row), 2);
    bench.clock.now_ns += DAY_NS;
    assert_ok(housekeeping_turn(bench.housekeeping));
    assert_int_equal(read_metric(&bench, row), 3);
}

static void test_housekeeping_takes_a_turn_at_once_and_ends_when_told(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    JobId id;
    Job job;
    bench_init(&bench);
    assert_ok(control_fixture_submit(&bench.node, "four", 1, false, NULL, &id));
    control_fixture_wait(&bench.node, id, JOB_STATE_SUCCEEDED, &job);
    retain(&bench, 0);
    assert_ok(housekeeping_start(bench.housekeeping));
    for (int i = 0; i < 10000 && is_there(&bench, id); i++) fixture_pause_ms(1);
    assert_false(is_there(&bench, id));
    housekeeping_release(bench.housekeeping);
    bench.housekeeping = NULL;
}

static Error *count_settling(void *context) {
    size_t *turns = context;
    (*turns)++;
    return NULL;
}

static void test_housekeeping_settles_each_turn(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    size_t turns = 0;
    bench_init(&bench);
    housekeeping_release(bench.housekeeping);
    HousekeepingOptions options = {.store = bench.node.store,
        .catalog = bench.node.catalog,
        .settle = count_settling,
        .settle_context = &turns,
        .clock = clock_simulated(&bench.clock)};
    assert_ok(housekeeping_create(&options, &bench.housekeeping));
    assert_ok(housekeeping_turn(bench.housekeeping));
    assert_int_equal(turns, 1);
    bench.clock.now_ns += MINUTE_NS;
    assert_ok(housekeeping_turn(bench.housekeeping));
    assert_int_equal(turns, 2);
}

int test_housekeeping(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_housekeeping_keeps_finished_jobs_when_a_clock_jumps),
        cmocka_unit_test(test_housekeeping_settles_each_turn),
        cmocka_unit_test(test_housekeeping_lets_finished_jobs_go_after_their_time),
        cmocka_unit_test(test_housekeeping_asks_every_tenant),
        cmocka_unit_test(test_housekeeping_sweeps_when_it_is_worth_it),
        cmocka_unit_test(test_housekeeping_takes_a_turn_at_once_and_ends_when_told),
    };
    return cmocka_run_group_tests_name("housekeeping", tests, NULL, NULL);
}
