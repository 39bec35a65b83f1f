#include "scheduler/simulate/simulation.h"

#include "tests/scheduler/random_scenario.h"
#include "tests/support/test_support.h"

static void run_logged(uint64_t seed, EventLogWriter *log, SimulationResult *out_result) {
    static Scenario scenario;
    OWN(Checker, checker) = NULL;
    SimulationOptions options = {.seed = seed, .log = log};
    random_scenario(seed, RANDOM_HOSTILE, &scenario);
    event_log_begin(log);
    assert_ok(simulation_run(&scenario, &options, out_result, &checker));
}

static void test_a_log_replays_to_the_same_decisions(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        EventLogWriter log;
        SimulationResult run, again;
        run_logged(seed, &log, &run);
        assert_ok(simulation_replay(log.bytes.data, log.bytes.size, &again));
        assert_int_equal(run.digest, again.digest);
        assert_int_equal(run.events, again.events);
        assert_int_equal(run.actions, again.actions);
        assert_int_equal(run.jobs_done, again.jobs_done);
        byte_writer_deinit(&log.bytes);
    }
}

/* Another decision than the one logged is found at its event. */
static void test_replay_names_the_first_other_decision(void **state) {
    (void)state;
    EventLogWriter log;
    SimulationResult result;
    event_log_begin(&log);
    event_log_write(&log, &(PolicyEvent){.kind = POLICY_EVENT_CLOCK, .time_ns = 1}, 0);
    event_log_write(&log, &(PolicyEvent){.kind = POLICY_EVENT_CLOCK, .time_ns = 2}, 77);
    assert_fails_saying(
        CONFLICT, "event 1", simulation_replay(log.bytes.data, log.bytes.size, &result));
    byte_writer_deinit(&log.bytes);
    event_log_begin(&log);
    event_log_write(
        &log, &(PolicyEvent){.kind = POLICY_EVENT_DEVICE_LOST, .time_ns = 1, .device = 4}, 0);
    assert_fails_saying(
        NOT_FOUND, "device 4", simulation_replay(log.bytes.data, log.bytes.size, &result));
    byte_writer_deinit(&log.bytes);
}

/* What the process had written when it died is replayed. */
static void test_replay_stops_at_the_last_whole_record(void **state) {
    (void)state;
    enum { END_SIZE = 21 };
    EventLogWriter log;
    SimulationResult whole, part;
    run_logged(5, &log, &whole);
    assert_ok(simulation_replay(log.bytes.data, log.bytes.size, &part));
    assert_true(part.complete && part.torn_bytes == 0 && part.events == whole.events);
    assert_ok(simulation_replay(log.bytes.data, log.bytes.size - END_SIZE, &part));
    assert_true(!part.complete && part.torn_bytes == 0 && part.events == whole.events);
    assert_ok(simulation_replay(log.bytes.data, log.bytes.size - END_SIZE - 1, &part));
    assert_true(!part.complete && part.torn_bytes > 0 && part.events == whole.events - 1);
    byte_writer_deinit(&log.bytes);
}

static void test_replay_of_a_damaged_log_says_where(void **state) {
    (void)state;
    EventLogWriter log;
    SimulationResult result;
    uint64_t random = 4;
    run_logged(3, &log, &result);
    for (int i = 0; i < 200; i++) {
        size_t bit = test_random(&random) % (log.bytes.size * 8);
        log.bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        Error *error = simulation_replay(log.bytes.data, log.bytes.size, &result);
        assert_true(error || result.torn_bytes > 0);
        error_free(error);
        log.bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_ok(simulation_replay(log.bytes.data, log.bytes.size, &result));
    byte_writer_deinit(&log.bytes);
}

int test_replay(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_log_replays_to_the_same_decisions),
        cmocka_unit_test(test_replay_names_the_first_other_decision),
        cmocka_unit_test(test_replay_stops_at_the_last_whole_record),
        cmocka_unit_test(test_replay_of_a_damaged_log_says_where),
    };
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
