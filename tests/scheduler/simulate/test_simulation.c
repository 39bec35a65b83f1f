#include "scheduler/simulate/simulation.h"

#include "tests/scheduler/random_scenario.h"
#include "tests/support/test_sanitizers.h"
#include "tests/support/test_support.h"

#ifdef TEST_WITH_ADDRESS_SANITIZER
enum { EVENTS_WANTED = 200000 };
#else
enum { EVENTS_WANTED = 1200000 };
#endif
enum { EVENTS_EACH_MAX = 200000 };

/* Runs worlds one after the other until so many events were taken; every promise is kept in each.
 */
static void run_worlds(RandomScenarioKind kind, uint64_t first_seed, uint64_t events_wanted) {
    static Scenario scenario;
    uint64_t events = 0;
    for (uint64_t seed = first_seed; events < events_wanted; seed++) {
        OWN(Checker, checker) = NULL;
        SimulationResult result;
        SimulationOptions options = {.seed = seed, .event_limit = EVENTS_EACH_MAX};
        random_scenario(seed, kind, &scenario);
        Error *error = simulation_run(&scenario, &options, &result, &checker);
        if (error) print_error("kind %d, seed %llu\n", (int)kind, (unsigned long long)seed);
        assert_ok(error);
        if (checker_violation_count(checker))
            fail_msg("kind %d, seed %llu: %llu violations, the first %s", (int)kind,
                (unsigned long long)seed, (unsigned long long)checker_violation_count(checker),
                checker_violation(checker, 0));
        assert_true(result.events < EVENTS_EACH_MAX); /* else it never ends */
        events += result.events;
    }
}

static void test_hostile_worlds_keep_every_promise(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    run_worlds(RANDOM_HOSTILE, 1, EVENTS_WANTED * 3 / 4);
}

static void test_worlds_with_one_device_keep_shares_floors_and_deadlines(void **state) {
    (void)state;
    run_worlds(RANDOM_ONE_DEVICE, 1000000, EVENTS_WANTED / 4);
}

static void run_logged(uint64_t seed, EventLogWriter *log, SimulationResult *out_result) {
    static Scenario scenario;
    OWN(Checker, checker) = NULL;
    SimulationOptions options = {.seed = seed, .log = log};
    random_scenario(seed, RANDOM_HOSTILE, &scenario);
    event_log_begin(log);
    assert_ok(simulation_run(&scenario, &options, out_result, &checker));
}

static void test_one_seed_gives_one_run(void **state) {
    (void)state;
    EventLogWriter one, two, three;
    SimulationResult a, b, c;
    run_logged(7, &one, &a);
    run_logged(7, &two, &b);
    run_logged(8, &three, &c);
    assert_int_equal(a.digest, b.digest);
    assert_int_equal(one.bytes.size, two.bytes.size);
    assert_memory_equal(one.bytes.data, two.bytes.data, one.bytes.size);
    assert_true(a.digest != c.digest);
    byte_writer_deinit(&one.bytes);
    byte_writer_deinit(&two.bytes);
    byte_writer_deinit(&three.bytes);
}

static void test_jain_index_of_equal_tenants_is_nearly_one(void **state) {
    (void)state;
    static Scenario scenario;
    OWN(Checker, checker) = NULL;
    SimulationResult result;
    SimulationOptions options = {.seed = 3};
    scenario_init(&scenario);
    scenario.device_groups = scenario.tenant_groups = scenario.model_groups = 1;
    scenario.job_groups = 1;
    scenario.tenants[0].count = 10;
    scenario.jobs[0].count = 200;
    scenario.jobs[0].device_us = (ScenarioRange){100000, 1000000};
    assert_ok(scenario_check(&scenario));
    assert_ok(simulation_run(&scenario, &options, &result, &checker));
    assert_int_equal(result.jobs_done, 200);
    assert_true(simulation_jain_index(checker, 10) > 0.99);
}

int test_simulation(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_worlds_keep_every_promise),
        cmocka_unit_test(test_worlds_with_one_device_keep_shares_floors_and_deadlines),
        cmocka_unit_test(test_one_seed_gives_one_run),
        cmocka_unit_test(test_jain_index_of_equal_tenants_is_nearly_one),
    };
    return cmocka_run_group_tests_name("simulation", tests, NULL, NULL);
}
